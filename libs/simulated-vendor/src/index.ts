/** The only door: a pretend silicon vendor for development and tests. */
export { simulatedMeasurement } from './measurement.js';
export { buildSnpReport, signSnpReport, type SnpReportValues } from './report.js';
export {
  createSimulatedVendor,
  encodeSimulatedVendor,
  parseSimulatedVendor,
  simulatedName,
  snpReportSigner,
  tcbExtensions,
  type SimulatedVendor,
} from './vendor.js';
