// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Ext} from "./Ext.sol";
import {STEP_PLAN} from "./ZkErrors.sol";

/// What the verifier needs of the plan of a shape. Lists are pointers to memory words; `…At` are calldata positions of
/// 32-bit words.
struct Plan {
    bool joint;
    uint256 m;
    uint256 logBlowup;
    uint256 randomRows;
    uint256 k1;
    uint256 logBlowup1;
    uint256 queries0;
    uint256 queries1;
    uint256 grind0;
    uint256 grind1;
    uint256 grindFold;
    uint256 grindFold1;
    uint256 digestBytes;
    uint256 layers;
    uint256 stepVars;
    uint256 batchVars;
    uint256 classes;
    uint256 widthVars; // layers + 1 words
    uint256 scalesAt; // per layer: forward shift, backward shift, bits of weights and of biases, a_{l−1}
    uint256 abits;
    uint256 lossFraction;
    uint256 reciprocalBits;
    uint256 expVars;
    uint256 expAt;
    uint256 pieces;
    uint256 gaps;
    uint256 piecesAt; // start, bits of the pieces, then of the gaps
    uint256 vars;
    uint256 trees; // per tree S, D, W0, WT: header, bytes of aux, rows, position of the global rows
    uint256 offsets; // per block key: first cell in the global hypercube
    uint256 lookupVars;
    uint256 lookups;
    uint256 lookupsAt; // per column: kind, layer, piece, vars, offset
    bool plainLow;
    uint256 products;
    uint256 messages;
    uint256 slotVars;
    uint256 padVars;
}

uint256 constant TREE_S = 0;
uint256 constant TREE_D = 1;
uint256 constant TREE_W0 = 2;
uint256 constant TREE_WT = 3;

/// The words whose hash is the planDigest (step-proof §4.5), read once. Whoever agreed to the digest vouches for what
/// the words say; the reader only makes sure that no value leads outside them.
library ZkPlan {
    bytes32 private constant TAG = keccak256("fxt-zk/plan/1");
    uint256 internal constant KEYS = 9 * 32;
    uint256 private constant FIRST_TABLE = 19;

    function digest(bytes calldata plan) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(TAG, plan));
    }

    function word(uint256 at, uint256 i) internal pure returns (uint256 v) {
        assembly ("memory-safe") {
            v := shr(224, calldataload(add(at, shl(2, i))))
        }
    }

    function log2Ceil(uint256 value) internal pure returns (uint256 bits) {
        while (1 << bits < value) ++bits;
    }

    function read(bytes calldata plan) internal pure returns (Plan memory p) {
        uint256 at;
        assembly ("memory-safe") {
            at := add(plan.offset, 32)
        }
        at = _profile(p, at);
        at = _shape(p, at);
        at = _trees(p, at);
        at = _lookups(p, at);
        p.products = word(at, 0);
        p.messages = word(at, 1);
        p.slotVars = word(at, 2);
        p.padVars = word(at, 3);
        uint256 end;
        assembly ("memory-safe") {
            end := add(plan.offset, plan.length)
        }
        if (at + 16 != end) revert STEP_PLAN();
    }

    function _profile(Plan memory p, uint256 at) private pure returns (uint256) {
        p.joint = word(at, 0) == 1;
        if (word(at, 1) != 1 || word(at, 2) != 2) revert STEP_PLAN();
        p.m = word(at, 3);
        p.logBlowup = word(at, 4);
        p.k1 = word(at, 6);
        p.randomRows = word(at, 5) >> (p.m - p.k1);
        p.logBlowup1 = word(at, 7);
        p.queries0 = word(at, 8);
        p.queries1 = word(at, 9);
        p.grind0 = word(at, 10);
        p.grind1 = word(at, 11);
        p.grindFold = word(at, 12);
        p.grindFold1 = word(at, 13);
        p.digestBytes = word(at, 14);
        return at + 60;
    }

    function _shape(Plan memory p, uint256 at) private pure returns (uint256) {
        uint256 widths = word(at, 0);
        if (widths < 3 || widths > 9) revert STEP_PLAN();
        p.layers = widths - 1;
        p.widthVars = Ext.allocate(widths);
        for (uint256 l; l < widths; ++l) Ext.put(p.widthVars, l, log2Ceil(word(at, 1 + l)));
        p.classes = word(at, widths);
        at += 4 * (widths + 1);
        p.batchVars = log2Ceil(word(at, 0));
        p.stepVars = log2Ceil(word(at, 1));
        p.scalesAt = at + 8;
        at += 8 + 20 * p.layers;
        p.abits = word(at, 0);
        p.lossFraction = word(at, 1);
        p.reciprocalBits = word(at, 2);
        uint256 entries = word(at, 3);
        p.expVars = log2Ceil(entries);
        p.expAt = at + 16;
        at += 16 + 4 * entries;
        uint256 words = word(at, 0);
        p.piecesAt = at + 4;
        while (p.pieces < words / 2 && word(p.piecesAt, 2 * p.pieces) < p.classes) ++p.pieces;
        p.gaps = words / 2 - p.pieces;
        p.vars = word(at + 4, words);
        return at + 8 + 4 * words;
    }

    function _trees(Plan memory p, uint256 at) private pure returns (uint256) {
        p.trees = Ext.allocate(16);
        p.offsets = Ext.allocate(KEYS);
        for (uint256 tree; tree < 4; ++tree) {
            uint256 rows = word(at, 2);
            Ext.put(p.trees, 4 * tree, word(at, 0));
            Ext.put(p.trees, 4 * tree + 1, word(at, 1));
            Ext.put(p.trees, 4 * tree + 2, rows);
            Ext.put(p.trees, 4 * tree + 3, at + 12);
            uint256 globalAt = at + 12;
            at += 12 + 4 * rows;
            if (word(at, 0) != rows) revert STEP_PLAN();
            at += 4;
            for (uint256 row; row < rows; ++row) {
                at = _row(p, tree, at, word(globalAt, row) << p.m);
            }
        }
        return at;
    }

    function _row(Plan memory p, uint256 tree, uint256 at, uint256 first) private pure returns (uint256) {
        uint256 segments = word(at, 0);
        at += 4;
        for (uint256 s; s < segments; ++s) {
            uint256 code = word(at, 0);
            uint256 key = keyOf(tree, code >> 8, code & 0xff);
            if (key >= KEYS) revert STEP_PLAN();
            if (Ext.at(p.offsets, key) == 0) {
                Ext.put(p.offsets, key, 1 + first + word(at, 2) - word(at, 1));
            }
            at += 16;
        }
        return at;
    }

    /// Blocks by layer and kind; those of WT next to those of W0, blind cells of all trees together (no claim reads them).
    function keyOf(uint256 tree, uint256 layer, uint256 kind) internal pure returns (uint256) {
        return layer * 32 + (tree == TREE_WT && kind != 23 ? kind + 7 : kind);
    }

    function _lookups(Plan memory p, uint256 at) private pure returns (uint256) {
        p.lookupVars = word(at, 0);
        p.lookups = word(at, 1) / 5;
        p.lookupsAt = at + 8;
        p.plainLow = true;
        for (uint256 i; i < p.lookups; ++i) {
            uint256 place = p.lookupsAt + 20 * i;
            if (word(place, 0) >= FIRST_TABLE && word(place, 4) < 1 << (p.lookupVars - 1)) p.plainLow = false;
        }
        return at + 8 + 20 * p.lookups;
    }
}
