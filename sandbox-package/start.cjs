#!/usr/bin/env node
// Old syntax only: an older Node must be able to read this file to say what it lacks.
'use strict';

var needed = require('./package.json').engines.node.replace(/^>=/, '');
var present = process.versions.node;

function isOlder(one, other) {
  var ones = one.split('.').map(Number);
  var others = other.split('.').map(Number);
  return ones[0] === others[0] ? ones[1] < others[1] : ones[0] < others[0];
}

function refuse(sentence) {
  process.stderr.write(sentence + '\n');
  process.exitCode = 2;
}

if (isOlder(present, needed)) {
  refuse('@licensing-gateway/sandbox needs Node ' + needed + ' or newer, and this is Node ' + present + '.');
} else {
  import('./dist/main.js').catch(function (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    refuse(
      '@licensing-gateway/sandbox is not built: in the repository of the gateway, npm run build makes it.',
    );
  });
}
