#!/usr/bin/env node
// Gives forge the JavaScript build of solc: `--version` and `--standard-json` are all that forge asks for.
const fs = require('node:fs');
const solc = require('solc');

if (process.argv.includes('--version')) {
  console.log('solc\nVersion: ' + solc.version().replace('.Emscripten.clang', '.Linux.g++'));
} else {
  process.stdout.write(solc.compile(fs.readFileSync(0, 'utf8')));
}
