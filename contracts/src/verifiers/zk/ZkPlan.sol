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
    uint256 batch;
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
    uint256 layouts; // per tree: position and length of the words of its layout
    uint256 widthsAt; // number of widths, widths, batch, superblock
    uint256 offsets; // per block key: first cell in the global hypercube
    uint256 lookupVars;
    uint256 lookups;
    uint256 lookupsAt; // per column: kind, layer, piece, vars, offset
    bool plainLow;
    uint256 products;
    uint256 messages;
    uint256 slotVars;
    uint256 padVars;
    bool squaredError;
    uint256 errorBits;
    uint256 logitFraction; // a_L, of a squared error
    uint256 drop; // a_L − g_L where it is positive, of a squared error
    uint256 perPiece; // messages of F2 for each class piece
    uint256 hidden; // messages of F2
    uint256 oodPoints;
    bool inputsFirst; // X stands as [i,t,b]
    uint256 deeper; // levels behind the first
    uint256 deeperAt; // per level: variables folded, blowup, queries, grinding before them and before row rounds
    uint256 segmentVars; // of the steps' variables those of the segments of a unit
}

/// A level of the opening (libs/zk/SPEC.md §9).
struct Level {
    uint256 rowVars;
    uint256 columnVars;
    uint256 rows; // committed ones
    uint256 logBlowup;
    uint256 queries;
    uint256 grind;
    uint256 grindFold;
}

uint256 constant TREE_S = 0;
uint256 constant TREE_D = 1;
uint256 constant TREE_W0 = 2;
uint256 constant TREE_WT = 3;

/// The words whose hash is the planDigest (libs/zk/SPEC.md §4.5), read once. Whoever agreed to the digest vouches for
/// what the words say; the reader only makes sure that no value leads outside them.
library ZkPlan {
    bytes32 private constant TAG = keccak256("fxt-zk/plan/1");
    uint256 internal constant KEYS = 9 * 32;
    uint256 internal constant TABLES = 19;
    uint256 internal constant LATER = 22;
    /// Kinds of looked-up columns; each has a place for every layer or class piece.
    uint256 internal constant COLUMNS = 31;
    uint256 internal constant STRIDE = 32;
    /// Words of a level behind the first, and most such levels.
    uint256 internal constant LEVEL = 5;
    uint256 internal constant DEEPER = 2;

    function digest(bytes calldata plan) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(TAG, plan));
    }

    function word(uint256 pos, uint256 i) internal pure returns (uint256 v) {
        assembly ("memory-safe") {
            v := shr(224, calldataload(add(pos, shl(2, i))))
        }
    }

    function log2Ceil(uint256 value) internal pure returns (uint256 bits) {
        unchecked {
            while (1 << bits < value) ++bits;
        }
    }

    function read(bytes calldata plan) internal pure returns (Plan memory p) {
        unchecked {
            uint256 pos;
            assembly ("memory-safe") {
                pos := add(plan.offset, 32)
            }
            pos = _profile(p, pos);
            pos = _shape(p, pos);
            pos = _trees(p, pos);
            pos = _lookups(p, pos);
            p.products = word(pos, 0);
            p.messages = word(pos, 1);
            p.slotVars = word(pos, 2);
            p.padVars = word(pos, 3);
            uint256 end;
            assembly ("memory-safe") {
                end := add(plan.offset, plan.length)
            }
            _later(p, pos + 16, end);
            p.perPiece = p.squaredError ? 1 : 2;
            p.hidden = 2 * (p.layers - 1) + p.perPiece * p.pieces + (p.squaredError ? 0 : 1);
        }
    }

    /// Loss, bits of errors, fractional bits of logits and points outside the domain, where they are not those of a softmax
    /// with 16 bits and one point; then the order of the data and the levels behind the first, where there are any, and the
    /// steps of a unit.
    function _later(Plan memory p, uint256 pos, uint256 end) private pure {
        unchecked {
            (p.errorBits, p.oodPoints) = (16, 1);
            if (pos == end) return;
            uint256 words = word(pos, 0);
            if (words < 4 || words > 6 + LEVEL * DEEPER || pos + 4 + 4 * words != end) revert STEP_PLAN();
            uint256 loss = word(pos, 1);
            p.errorBits = word(pos, 2);
            p.oodPoints = word(pos, 4);
            if (loss == 0 || loss > 2 || p.errorBits > 16 || p.oodPoints == 0 || p.oodPoints > 2) revert STEP_PLAN();
            if (words > 4) _deeper(p, pos + 20, words - 5);
            p.squaredError = loss == 2;
            p.logitFraction = word(pos, 3);
            if (p.squaredError && p.logitFraction > p.lossFraction) p.drop = p.logitFraction - p.lossFraction;
        }
    }

    function _deeper(Plan memory p, uint256 pos, uint256 words) private pure {
        unchecked {
            if (word(pos, 0) > 1 || words % LEVEL > 1) revert STEP_PLAN();
            p.inputsFirst = word(pos, 0) == 1;
            p.deeper = words / LEVEL;
            p.deeperAt = pos + 4;
            uint256 folded = p.k1;
            for (uint256 i; i < p.deeper; ++i) {
                folded += word(p.deeperAt, LEVEL * i);
            }
            if (folded >= p.m) revert STEP_PLAN();
        }
    }

    /// The steps of a unit, the last word of its plan: without this it is read as one of a segment.
    function readUnit(Plan memory p) internal pure {
        unchecked {
            if (p.deeperAt == 0) return;
            uint256 words = word(p.deeperAt - 24, 0) - 5;
            if (words % LEVEL == 0) return;
            uint256 stepVars = log2Ceil(word(p.deeperAt, words - 1));
            if (stepVars <= p.stepVars) revert STEP_PLAN();
            (p.segmentVars, p.stepVars) = (stepVars - p.stepVars, stepVars);
        }
    }

    /// The levels of the opening, level 1 first.
    function levels(Plan memory p) internal pure returns (Level[] memory list) {
        unchecked {
            list = new Level[](1 + p.deeper);
            uint256 columns = p.m - p.k1;
            uint256 rows = (1 << p.k1) + p.randomRows + 1;
            list[0] = Level(p.k1 + 1, columns, rows, p.logBlowup1, p.queries1, p.grind1, p.grindFold1);
            for (uint256 i; i < p.deeper; ++i) {
                uint256 pos = p.deeperAt + 4 * LEVEL * i;
                uint256 k = word(pos, 0);
                columns -= k;
                list[i + 1] = Level(k, columns, 1 << k, word(pos, 1), word(pos, 2), word(pos, 3), word(pos, 4));
            }
        }
    }

    function _profile(Plan memory p, uint256 pos) private pure returns (uint256) {
        unchecked {
            p.joint = word(pos, 0) == 1;
            if (word(pos, 1) != 1 || word(pos, 2) != 2) revert STEP_PLAN();
            p.m = word(pos, 3);
            p.logBlowup = word(pos, 4);
            p.k1 = word(pos, 6);
            p.randomRows = word(pos, 5) >> (p.m - p.k1);
            p.logBlowup1 = word(pos, 7);
            p.queries0 = word(pos, 8);
            p.queries1 = word(pos, 9);
            p.grind0 = word(pos, 10);
            p.grind1 = word(pos, 11);
            p.grindFold = word(pos, 12);
            p.grindFold1 = word(pos, 13);
            p.digestBytes = word(pos, 14);
            return pos + 60;
        }
    }

    function _shape(Plan memory p, uint256 pos) private pure returns (uint256) {
        unchecked {
            p.widthsAt = pos;
            uint256 widths = word(pos, 0);
            if (widths < 2 || widths > 9) revert STEP_PLAN();
            p.layers = widths - 1;
            p.widthVars = Ext.allocate(widths);
            for (uint256 l; l < widths; ++l) {
                Ext.put(p.widthVars, l, log2Ceil(word(pos, 1 + l)));
            }
            p.classes = word(pos, widths);
            pos += 4 * (widths + 1);
            p.batch = word(pos, 0);
            p.batchVars = log2Ceil(p.batch);
            p.stepVars = log2Ceil(word(pos, 1));
            p.scalesAt = pos + 8;
            pos += 8 + 20 * p.layers;
            p.abits = word(pos, 0);
            p.lossFraction = word(pos, 1);
            p.reciprocalBits = word(pos, 2);
            uint256 entries = word(pos, 3);
            p.expVars = log2Ceil(entries);
            p.expAt = pos + 16;
            pos += 16 + 4 * entries;
            uint256 words = word(pos, 0);
            p.piecesAt = pos + 4;
            while (p.pieces < words / 2 && word(p.piecesAt, 2 * p.pieces) < p.classes) ++p.pieces;
            p.gaps = words / 2 - p.pieces;
            p.vars = word(pos + 4, words);
            return pos + 8 + 4 * words;
        }
    }

    function _trees(Plan memory p, uint256 pos) private pure returns (uint256) {
        unchecked {
            p.trees = Ext.allocate(16);
            p.layouts = Ext.allocate(8);
            p.offsets = Ext.allocate(KEYS);
            for (uint256 tree; tree < 4; ++tree) {
                uint256 rows = word(pos, 2);
                Ext.put(p.trees, 4 * tree, word(pos, 0));
                Ext.put(p.trees, 4 * tree + 1, word(pos, 1));
                Ext.put(p.trees, 4 * tree + 2, rows);
                Ext.put(p.trees, 4 * tree + 3, pos + 12);
                uint256 globalAt = pos + 12;
                pos += 12 + 4 * rows;
                if (word(pos, 0) != rows) revert STEP_PLAN();
                Ext.put(p.layouts, 2 * tree, pos);
                pos += 4;
                for (uint256 row; row < rows; ++row) {
                    pos = _row(p, tree, pos, word(globalAt, row) << p.m);
                }
                Ext.put(p.layouts, 2 * tree + 1, pos - Ext.get(p.layouts, 2 * tree));
            }
            return pos;
        }
    }

    function _row(Plan memory p, uint256 tree, uint256 pos, uint256 first) private pure returns (uint256) {
        unchecked {
            uint256 segments = word(pos, 0);
            pos += 4;
            for (uint256 s; s < segments; ++s) {
                uint256 code = word(pos, 0);
                uint256 key = keyOf(tree, code >> 8, code & 0xff);
                if (key >= KEYS) revert STEP_PLAN();
                if (Ext.get(p.offsets, key) == 0) {
                    Ext.put(p.offsets, key, 1 + first + word(pos, 2) - word(pos, 1));
                }
                pos += 16;
            }
            return pos;
        }
    }

    /// Blocks by layer and kind; those of WT next to those of W0, blind cells of all trees together (no claim reads them).
    function keyOf(uint256 tree, uint256 layer, uint256 kind) internal pure returns (uint256) {
        unchecked {
            return layer * 32 + (tree == TREE_WT && kind != 23 ? kind + 8 : kind);
        }
    }

    function _lookups(Plan memory p, uint256 pos) private pure returns (uint256) {
        unchecked {
            p.lookupVars = word(pos, 0);
            p.lookups = word(pos, 1) / 5;
            p.lookupsAt = pos + 8;
            p.plainLow = true;
            for (uint256 i; i < p.lookups; ++i) {
                uint256 place = p.lookupsAt + 20 * i;
                if (column(place, 0) >= COLUMNS * STRIDE) revert STEP_PLAN();
                if (isTable(word(place, 0)) && word(place, 4) < 1 << (p.lookupVars - 1)) p.plainLow = false;
            }
            return pos + 8 + 20 * p.lookups;
        }
    }

    function isTable(uint256 kind) internal pure returns (bool) {
        return kind >= TABLES && kind < LATER;
    }

    /// Where the weight of a looked-up column is kept: by kind, then layer or class piece.
    function column(uint256 list, uint256 i) internal pure returns (uint256) {
        unchecked {
            return word(list, 5 * i) * STRIDE + word(list, 5 * i + 1) + word(list, 5 * i + 2);
        }
    }
}
