// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Claims, Flow} from "./Claims.sol";
import {Ext} from "./Ext.sol";
import {Plan} from "./ZkPlan.sol";

/// Weights where segments begin and end, and what the steps between move them (libs/zk/SPEC.md §7 F5, §20). A contract
/// takes plans of one segment or of units of several; which, the compiler knows, so that the former carry nothing of
/// the latter.
abstract contract Borders {
    using Claims for Flow;

    /// In the place of a size that not all steps of a segment have.
    uint256 private constant MIXED = 256;

    function _isUnit() internal pure virtual returns (bool);

    function _segmentVars(Plan memory p) internal pure returns (uint256) {
        return _isUnit() ? p.segmentVars : 0;
    }

    /// W or b before the segment at a point of the segments: its weight at the point but for the other axes.
    /// @param kind W0 or B0, `vars` the variables of these
    function _startOf(Flow memory f, Plan memory p, uint256 layer, uint256 kind, uint256 vars, uint256 segment)
        internal
        pure
        returns (uint256 weight)
    {
        unchecked {
            weight = f.selector(p, Claims.blockOf(layer, kind, vars));
            if (!_isUnit()) return weight;
            uint256 n = p.segmentVars;
            uint256 ends = f.selector(p, Claims.blockOf(layer, kind + Claims.TO_ENDS, vars + n));
            weight = Ext.mul(weight, Ext.eqIndex(segment, n, 0));
            return Ext.add(weight, Ext.mul(ends, _successor(segment, f.tail(p, vars + n), n)));
        }
    }

    /// The same after this segment.
    function _endOf(Flow memory f, Plan memory p, uint256 layer, uint256 kind, uint256 vars, uint256 segment)
        internal
        pure
        returns (uint256)
    {
        unchecked {
            if (!_isUnit()) return f.selector(p, Claims.blockOf(layer, kind + Claims.TO_AFTER, vars));
            uint256 n = p.segmentVars;
            uint256 ends = f.selector(p, Claims.blockOf(layer, kind + Claims.TO_ENDS, vars + n));
            return Ext.mul(ends, Ext.eq(segment, f.tail(p, vars + n), n));
        }
    }

    /// After the last segment less the weights after all of them, which are the same.
    function _lastOf(Flow memory f, Plan memory p, uint256 layer, uint256 kind, uint256 vars)
        internal
        pure
        returns (uint256)
    {
        unchecked {
            uint256 n = p.segmentVars;
            uint256 ends = f.selector(p, Claims.blockOf(layer, kind + Claims.TO_ENDS, vars + n));
            ends = Ext.mul(ends, Ext.eqIndex(f.tail(p, vars + n), n, (1 << n) - 1));
            return Ext.sub(ends, f.selector(p, Claims.blockOf(layer, kind + Claims.TO_AFTER, vars)));
        }
    }

    /// Σ_j eq(a, j+1)·eq(b, j), from the lowest bit on: ones of j turn to zeros up to its first zero, and above it both
    /// have the same bits.
    function _successor(uint256 a, uint256 b, uint256 n) private pure returns (uint256 sum) {
        unchecked {
            uint256 carry = Ext.ONE;
            for (uint256 k = n; k > 0;) {
                --k;
                (uint256 x, uint256 y) = (Ext.get(a, k), Ext.get(b, k));
                uint256 both = Ext.mul(x, y);
                uint256 ofCarry = Ext.mul(carry, Ext.sub(x, both));
                sum = Ext.add(Ext.mul(sum, Ext.add(Ext.sub(Ext.ONE, Ext.add(x, y)), Ext.add(both, both))), ofCarry);
                carry = Ext.mul(carry, Ext.sub(y, both));
            }
        }
    }

    /// What the sums over steps need to know of their sizes.
    function _readSizes(Flow memory f, Plan memory p) internal pure {
        unchecked {
            if (!_isUnit()) {
                f.uniform = _areAlike(f.sizesAt, 1 << p.stepVars);
                return;
            }
            uint256 count = 1 << p.segmentVars;
            uint256 length = 1 << (p.stepVars - p.segmentVars);
            f.segmentSizes = Ext.allocate(count);
            for (uint256 j; j < count; ++j) {
                uint256 pos = f.sizesAt + j * length;
                Ext.put(f.segmentSizes, j, _areAlike(pos, length) ? _size(pos, 0) : MIXED);
            }
        }
    }

    /// Σ_s m_s·eq(a,s)·eq(b,s)·Σ eq(step,τ) over the steps τ > s of the segment of s, in a unit times eq(segment, that
    /// segment); a factor whose point is 0 is left out. Where all m_s are the same no table of the steps is needed.
    /// @param isData a are the steps of committed data, in the order of the set
    function _moved(
        Flow memory f,
        Plan memory p,
        uint256 a,
        uint256 b,
        uint256 step,
        uint256 segment,
        bool isData
    ) internal pure returns (uint256 sum) {
        unchecked {
            if (!_isUnit()) {
                uint256 all = p.stepVars;
                if (!f.uniform) return _mixed(f.sizesAt, a, b, step, all);
                return Ext.scale(_alike(a, b, step, all), _size(f.sizesAt, 0));
            }
            uint256 n = p.segmentVars;
            uint256 low = p.stepVars - n;
            uint256 list = _bySegment(f, p, a, isData);
            if (b != 0) {
                _multiplyBy(list, b, n);
                b += 32 * n;
            }
            _multiplyBy(list, segment, n);
            if (step != 0) step += 32 * n;
            a += 32 * n;
            uint256 weight;
            for (uint256 j; j < 1 << n; ++j) {
                uint256 m = Ext.get(f.segmentSizes, j);
                uint256 own = Ext.get(list, j);
                if (m != MIXED) weight = Ext.add(weight, Ext.scale(own, m));
                else sum = Ext.add(sum, Ext.mul(own, _mixed(f.sizesAt + (j << low), a, b, step, low)));
            }
            if (weight != 0) sum = Ext.add(sum, Ext.mul(weight, _alike(a, b, step, low)));
        }
    }

    /// Σ_s eq(a,s)·eq(b,s)·eq(c,s).
    /// @param isData as above, of c
    function _sameStep(Flow memory f, Plan memory p, uint256 a, uint256 b, uint256 c, bool isData)
        internal
        pure
        returns (uint256)
    {
        unchecked {
            uint256 n = _segmentVars(p);
            if (n == 0 || !isData) return _eq3(a, b, c, p.stepVars);
            uint256 list = _bySegment(f, p, c, true);
            _multiplyBy(list, a, n);
            uint256 sum = Ext.dot(list, Ext.eqTable(b, n), 1 << n);
            return Ext.mul(sum, _eq3(a + 32 * n, b + 32 * n, c + 32 * n, p.stepVars - n));
        }
    }

    /// Σ_j eq(point, j)·eq(own, the superblock that segment j reads).
    function _sameSuperblock(Flow memory f, Plan memory p, uint256 point, uint256 own)
        internal
        pure
        returns (uint256)
    {
        return Ext.dot(_bySegment(f, p, own, true), Ext.eqTable(point, p.segmentVars), 1 << p.segmentVars);
    }

    /// eq(point, ·) of the segments, of data of the superblocks that they read.
    function _bySegment(Flow memory f, Plan memory p, uint256 point, bool isData) private pure returns (uint256 list) {
        unchecked {
            list = Ext.eqTable(point, p.segmentVars);
            if (!isData) return list;
            uint256 count = 1 << p.segmentVars;
            uint256 table = list;
            list = Ext.allocate(count);
            for (uint256 j; j < count; ++j) {
                uint256 pos = f.sizesAt + (1 << p.stepVars) + 32 * j;
                uint256 superblock;
                assembly ("memory-safe") {
                    superblock := calldataload(pos)
                }
                Ext.put(list, j, Ext.get(table, superblock));
            }
        }
    }

    /// Each of 2^n words times eq(point, ·).
    function _multiplyBy(uint256 list, uint256 point, uint256 n) private pure {
        unchecked {
            uint256 table = Ext.eqTable(point, n);
            for (uint256 s; s < 1 << n; ++s) {
                Ext.put(list, s, Ext.mul(Ext.get(list, s), Ext.get(table, s)));
            }
        }
    }

    function _eq3(uint256 a, uint256 b, uint256 c, uint256 n) private pure returns (uint256 result) {
        unchecked {
            result = Ext.ONE;
            for (uint256 k; k < n; ++k) {
                (uint256 x, uint256 y, uint256 z) = (Ext.get(a, k), Ext.get(b, k), Ext.get(c, k));
                uint256 zero = Ext.mul(Ext.mul(Ext.sub(Ext.ONE, x), Ext.sub(Ext.ONE, y)), Ext.sub(Ext.ONE, z));
                result = Ext.mul(result, Ext.add(zero, Ext.mul(Ext.mul(x, y), z)));
            }
        }
    }

    /// Whether these bytes of the calldata are all the same.
    function _areAlike(uint256 pos, uint256 count) private pure returns (bool) {
        unchecked {
            uint256 differ;
            assembly ("memory-safe") {
                let all := mul(byte(0, calldataload(pos)), div(not(0), 255))
                let unused := shl(3, sub(32, count))
                if gt(count, 31) { unused := 0 }
                for { let end := add(pos, count) } lt(pos, end) { pos := add(pos, 32) } {
                    differ := or(differ, shr(unused, xor(calldataload(pos), all)))
                }
            }
            return differ == 0;
        }
    }

    /// The sum of `_moved` over 2^n steps of size one.
    function _alike(uint256 a, uint256 b, uint256 step, uint256 n) private pure returns (uint256) {
        if (step != 0) return _before(a, b, step, n);
        return b != 0 ? Ext.eq(a, b, n) : Ext.ONE;
    }

    /// The same over steps of these sizes.
    function _mixed(uint256 sizesAt, uint256 a, uint256 b, uint256 step, uint256 n) private pure returns (uint256) {
        unchecked {
            uint256 own = Ext.eqTable(a, n);
            if (b != 0) _multiplyBy(own, b, n);
            return Ext.dot(own, step != 0 ? _later(sizesAt, step, n) : _schedule(sizesAt, n), 1 << n);
        }
    }

    /// Σ_{s<τ} eq(a,s)·eq(b,s)·eq(step,τ), from the lowest bit on: above it either both have the same bits, or s < τ
    /// is known and what is below is free.
    /// @param b 0 where its factor is left out
    function _before(uint256 a, uint256 b, uint256 step, uint256 n) private pure returns (uint256 sum) {
        unchecked {
            uint256 free_ = Ext.ONE;
            for (uint256 k = n; k > 0;) {
                --k;
                uint256 one = Ext.get(a, k);
                uint256 zero = Ext.sub(Ext.ONE, one);
                if (b != 0) {
                    uint256 y = Ext.get(b, k);
                    (one, zero) = (Ext.mul(one, y), Ext.mul(zero, Ext.sub(Ext.ONE, y)));
                }
                uint256 t = Ext.get(step, k);
                uint256 less = Ext.mul(zero, t);
                uint256 same = Ext.add(Ext.sub(zero, less), Ext.mul(one, t));
                sum = Ext.add(Ext.mul(less, free_), Ext.mul(same, sum));
                free_ = Ext.mul(free_, Ext.add(zero, one));
            }
        }
    }

    /// m_s·Σ_{τ>s} eq(step, τ).
    function _later(uint256 sizesAt, uint256 step, uint256 n) private pure returns (uint256 list) {
        unchecked {
            list = Ext.eqTable(step, n);
            uint256 later;
            for (uint256 s = 1 << n; s > 0;) {
                --s;
                uint256 own = Ext.get(list, s);
                Ext.put(list, s, Ext.scale(later, _size(sizesAt, s)));
                later = Ext.add(later, own);
            }
        }
    }

    function _size(uint256 sizesAt, uint256 s) private pure returns (uint256 m) {
        unchecked {
            uint256 pos = sizesAt + s;
            assembly ("memory-safe") {
                m := byte(0, calldataload(pos))
            }
        }
    }

    function _schedule(uint256 sizesAt, uint256 n) private pure returns (uint256 list) {
        unchecked {
            uint256 count = 1 << n;
            list = Ext.allocate(count);
            for (uint256 s; s < count; ++s) {
                Ext.put(list, s, _size(sizesAt, s));
            }
        }
    }
}
