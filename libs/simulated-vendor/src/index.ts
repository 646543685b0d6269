/** The only door: a pretend silicon vendor for development and tests. */
export { simulatedMeasurement } from './measurement.js';
export { buildSnpReport, signSnpReport, type SnpReportValues } from './report.js';
export {
  caExtensions,
  createSimulatedVendor,
  encodeSimulatedVendor,
  parseSimulatedVendor,
  simulatedName,
  simulatedTcb,
  snpReportSigner,
  tcbExtensions,
  type SimulatedVendor,
  type SimulatedVendorRequest,
} from './vendor.js';
