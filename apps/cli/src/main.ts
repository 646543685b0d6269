/** The process of the command line `veritrain`. */
import { run } from './program.js';

await run(process.argv);
