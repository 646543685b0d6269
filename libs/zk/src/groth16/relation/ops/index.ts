/** The ops of a layer as parts of a circuit. */
import * as linear from './dense.js';
import * as activation from './relu.js';

export { activation, linear };

export const forwardTemplates = linear.forwardTemplate + activation.template;
export const backwardTemplates = linear.backwardTemplates;
