// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Claims, Flow} from "./Claims.sol";
import {Ext} from "./Ext.sol";
import {Plan, ZkPlan, TREE_D, TREE_S, TREE_W0, TREE_WT} from "./ZkPlan.sol";

/// F0, F6 and F7 of libs/zk/SPEC.md §7: how the flow begins, and the one linear claim that it comes to.
library Relation {
    using Claims for Flow;

    struct Commitment {
        bytes32 root;
        uint256 ood;
        uint256 ood2; // at the second point, where there are two
    }

    function prepare(Flow memory f, Plan memory p) internal pure {
        f.pads = Ext.allocate(1 << p.padVars);
        f.slots = Ext.allocate(4 << p.slotVars);
        f.selectors = Ext.allocate(ZkPlan.KEYS);
    }

    function begin(Flow memory f, Plan memory p, Commitment[3] memory known) internal pure {
        prepare(f, p);
        f.pad = 3 << p.slotVars;
        _known(f, p, TREE_W0, known[0]);
        _known(f, p, TREE_WT, known[1]);
        _known(f, p, TREE_D, known[2]);
        for (uint256 i; i < p.oodPoints; ++i) {
            _value(f, p, TREE_S, f.next(), f.clear());
        }
    }

    /// @return target what ⟨Ω, w⟩ must be
    /// @return omega  Ω at the point
    function end(Flow memory f, Plan memory p) internal pure returns (uint256 target, uint256 omega) {
        _padProducts(f, p);
        f.closeSlots(p);
        uint256 used = f.pad;
        _hidden(f, p);
        _pads(f, p, used);
        return (Ext.neg(f.constant_), f.omega);
    }

    /// η⁰, η¹ … for every constraint; a squared error has fewer.
    /// @param more those of the ends of a unit
    function powers(Plan memory p, uint256 eta, uint256 more) internal pure returns (uint256 list) {
        unchecked {
            uint256 matmuls = 2 * p.layers - 1;
            uint256 count = p.lookupVars + (p.plainLow ? 6 : 8) + 2 * p.layers + 4 * p.pieces + p.gaps + 4;
            count += 4 * p.oodPoints + more;
            count += p.stepVars == 0 ? 2 * matmuls + 2 * p.layers : matmuls + 2 * (matmuls + p.layers);
            list = Ext.allocate(count);
            uint256 power = Ext.ONE;
            for (uint256 k; k < count; ++k) {
                Ext.put(list, k, power);
                power = Ext.mul(power, eta);
            }
        }
    }

    function _known(Flow memory f, Plan memory p, uint256 tree, Commitment memory c) private pure {
        _value(f, p, tree, Ext.fromDigest(uint256(keccak256(abi.encodePacked("ood", c.root)))), c.ood);
        if (p.oodPoints == 1) return;
        _value(f, p, tree, Ext.fromDigest(uint256(keccak256(abi.encodePacked("ood2", c.root)))), c.ood2);
    }

    /// The constraint that the rows of a tree come to `value` at z.
    function _value(Flow memory f, Plan memory p, uint256 tree, uint256 z, uint256 value) private pure {
        uint256 w = f.require_();
        f.addClaim(w, _outOfDomain(f, p, tree, z));
        f.addConstant(Ext.neg(Ext.mul(w, value)));
    }

    /// pow(z; columns)·Σ_k z^{k·2^m}·eq(ρ, row_k).
    function _outOfDomain(Flow memory f, Plan memory p, uint256 tree, uint256 z) private pure returns (uint256 sum) {
        unchecked {
            uint256 columns;
            (columns, z) = Ext.powerWeight(z, f.tail(p, p.m), p.m);
            uint256 rows = Ext.get(p.trees, 4 * tree + 2);
            uint256 pos = Ext.get(p.trees, 4 * tree + 3);
            // Horner, from the last row.
            for (uint256 k = rows; k > 0;) {
                --k;
                sum = Ext.add(Ext.mul(sum, z), Ext.get(f.rowTable, ZkPlan.word(pos, k)));
            }
            return Ext.mul(sum, columns);
        }
    }

    /// F6: the committed triples really are products. Pads begin with all A, all B and all C: the weight of each of these
    /// blocks at the point is a product.
    function _padProducts(Flow memory f, Plan memory p) private pure {
        unchecked {
            (uint256 wA, uint256 wB, uint256 wC) = (f.require_(), f.require_(), f.require_());
            uint256 tau = f.challenges;
            uint256 n = p.slotVars;
            f.challenges += 32 * n;
            uint256 point = f.sumcheck(tau, n, wC);
            (uint256 high, uint256 low) = (f.tail(p, p.padVars), f.tail(p, n));
            uint256 ofA = Ext.mul(wA, Ext.eqIndex(high, p.padVars - n, 0));
            uint256 ofB = Ext.mul(wB, Ext.eqIndex(high, p.padVars - n, 1));
            uint256 ofC = Ext.mul(wC, Ext.eqIndex(high, p.padVars - n, 2));
            f.padSum = Ext.mul(Ext.add(ofA, ofB), Ext.eq(point, low, n));
            f.padSum = Ext.add(f.padSum, Ext.mul(ofC, Ext.eq(tau, low, n)));
            (uint256 a, uint256 b) = (f.clear(), f.clear());
            uint256 sum = Ext.add(Ext.mul(wA, a), Ext.mul(wB, b));
            f.addConstant(Ext.neg(Ext.add(sum, Ext.mul(wC, Ext.mul(a, b)))));
        }
    }

    /// The messages of F2, whose weights are known only now.
    function _hidden(Flow memory f, Plan memory p) private pure {
        unchecked {
            (f.messages, f.pad) = (f.hiddenAt, f.hiddenPad);
            for (uint256 i; i < p.hidden; ++i) {
                f.masked(Ext.get(f.hidden, i));
            }
        }
    }

    /// Pads lie as real parts, then X-parts: the second half weighs X times the coefficient.
    function _pads(Flow memory f, Plan memory p, uint256 used) private pure {
        unchecked {
            uint256 own = f.tail(p, 1 + p.padVars);
            uint256 b = Ext.get(own, 0);
            uint256 parts = Ext.add(Ext.sub(Ext.ONE, b), Ext.mul(b, Ext.X));
            uint256 sum = Ext.add(f.padSum, Ext.evaluate(f.pads, used, own + 32, p.padVars));
            f.addClaim(f.part(p, Claims.blockOf(0, Claims.PAD, 1 + p.padVars), sum), parts);
        }
    }
}
