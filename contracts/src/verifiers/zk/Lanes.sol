// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

// Numbers of inline assembly that computes in the two 128-bit halves of a word (libs/zk/SPEC.md §15).

// p, and p in both halves: added before a subtraction, so that no half goes below zero.
uint256 constant P = 0xffffffff00000001;
uint256 constant PP = 0xffffffff000000010000000000000000ffffffff00000001;
// The low half.
uint256 constant LOW = 0xffffffffffffffffffffffffffffffff;
// 64 bits, in the low half and in both.
uint256 constant SYMBOL = 0xffffffffffffffff;
uint256 constant SYMBOLS = 0xffffffffffffffff0000000000000000ffffffffffffffff;
// 2^64 − p in both halves: a symbol that is not below p carries out of its 64 bits when it is added; and those carries.
uint256 constant ROOM = 0x00ffffffff000000000000000000000000ffffffff;
uint256 constant CARRIES = 0x1000000000000000000000000000000010000000000000000;
