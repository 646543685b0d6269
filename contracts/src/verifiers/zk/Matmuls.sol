// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Borders} from "./Borders.sol";
import {Claims, Flow} from "./Claims.sol";
import {Ext} from "./Ext.sol";
import {FlowMessages} from "./FlowMessages.sol";
import {Plan, ZkPlan} from "./ZkPlan.sol";

/// F4 and F5 of libs/zk/SPEC.md §7: all matrix products of the segment, and the weights inside and after it.
abstract contract Matmuls is Borders {
    using Claims for Flow;

    /// The axes of one matrix product, and afterwards those of its weights.
    struct Term {
        uint256 layer;
        uint256 step; // of the claim, afterwards of the weights: stepVars words
        uint256 input; // of the weights: a point
        uint256 output; // a point; unused where the combined classes are the output
        bool classes;
        uint256 slot; // of a border the constraint that the last segment ends in the weights after
    }

    /// A committed tensor over (step, unit, sample) at the point: its selector and where its coordinates lie.
    struct Tensor {
        uint256 selector;
        uint256 steps;
        uint256 units;
        uint256 samples;
    }

    function _matmuls(Flow memory f, Plan memory p) internal pure {
        unchecked {
            uint256 gamma = f.next();
            f.gammaClass = f.next();
            f.real = _real(f, p);
            _readSizes(f, p);
            uint256 count = 2 * p.layers - 1;
            Term[] memory terms = new Term[](_isOneStep(p) ? p.layers : count + p.layers);
            uint256 w = f.eta(f.k + (_isOneStep(p) ? 2 * count : count));
            uint256 vars = FlowMessages.matmulVars(p);
            uint256 point = f.sumcheck(0, vars, w) + 32 * vars;
            for (uint256 i; i < count; ++i) {
                Term memory t =
                    i % 2 == 0 && i > 0 ? _backward(f, p, i / 2 + 1, point, w) : _forward(f, p, (i + 3) / 2, point, w);
                if (!_isOneStep(p)) terms[i] = t;
                w = Ext.mul(w, gamma);
            }
            f.require_();
            _update(f, p, terms, _isOneStep(p) ? 0 : count);
        }
    }

    /// No weights are virtual then.
    function _isOneStep(Plan memory p) private pure returns (bool) {
        return !_isUnit() && p.stepVars == 0;
    }

    function _tensor(Flow memory f, Plan memory p, uint256 l, bool isError) private pure returns (Tensor memory t) {
        unchecked {
            uint256 own = Claims.width(p, l);
            uint256 vars = Claims.rowVars(p) + own;
            uint256 pos = f.tail(p, vars);
            t.samples = pos + 32 * (own + p.stepVars);
            if (isError ? l == p.layers : l == 0 && p.inputsFirst) {
                t.selector = isError
                    ? f.selector(p, Claims.blockOf(0, Claims.GL, vars))
                    : f.selector(p, Claims.blockOf(0, Claims.X, vars));
                (t.units, t.steps) = (pos, pos + 32 * own);
            } else {
                t.selector = f.selector(p, Claims.blockOf(l, isError ? Claims.G : l == 0 ? Claims.X : Claims.A, vars));
                (t.steps, t.units) = (pos, pos + 32 * p.stepVars);
            }
        }
    }

    /// The output axis of a term at coordinates of the point: a point, or the combined classes.
    function _output(Flow memory f, Plan memory p, Term memory t, uint256 pos) private pure returns (uint256 sum) {
        unchecked {
            if (!t.classes) return Ext.eq(t.output, pos, Claims.width(p, t.layer));
            uint256 power = Ext.ONE;
            uint256 leafEnd = f.leaf + 32 * (p.lookupVars - 1 - Claims.rowVars(p));
            for (uint256 k; k < p.pieces; ++k) {
                uint256 bits = ZkPlan.word(p.piecesAt, 2 * k + 1);
                uint256 fixedBits = Claims.width(p, p.layers) - bits;
                uint256 own = Ext.eqIndex(pos, fixedBits, ZkPlan.word(p.piecesAt, 2 * k) >> bits);
                own = Ext.mul(own, Ext.eq(leafEnd - 32 * bits, pos + 32 * fixedBits, bits));
                sum = Ext.add(sum, Ext.mul(power, own));
                power = Ext.mul(power, f.gammaClass);
            }
        }
    }

    /// Weights of one layer at (input, output).
    function _weight(Flow memory f, Plan memory p, Term memory t) private pure returns (uint256) {
        unchecked {
            uint256 inVars = Claims.width(p, t.layer - 1);
            uint256 pos = f.tail(p, inVars + Claims.width(p, t.layer));
            return Ext.mul(Ext.eq(t.input, pos, inVars), _output(f, p, t, pos + 32 * inVars));
        }
    }

    /// Z = A·W at the leaf point.
    function _forward(Flow memory f, Plan memory p, uint256 l, uint256 pointEnd, uint256 w)
        private
        pure
        returns (Term memory t)
    {
        unchecked {
            uint256 leafEnd = f.leaf + 32 * (p.lookupVars - 1);
            uint256 inVars = Claims.width(p, l - 1);
            uint256 outVars = Claims.width(p, l);
            t.layer = l;
            t.classes = l == p.layers;
            t.input = pointEnd - 32 * inVars;
            t.output = leafEnd - 32 * (p.batchVars + outVars);
            t.step = leafEnd - 32 * (Claims.rowVars(p) + (t.classes ? 0 : outVars));
            uint256 ofClaim = Ext.scale(w, Ext.inversePow2(p.stepVars + inVars));
            if (t.classes) {
                uint256 power = ofClaim;
                for (uint256 k; k < p.pieces; ++k) {
                    Claims.addTo(f.hidden, Claims.logitMessage(p, k), power);
                    power = Ext.mul(power, f.gammaClass);
                }
            } else {
                Claims.addTo(f.hidden, 2 * l - 2, ofClaim);
            }
            uint256 ofBias = Ext.scale(ofClaim, Ext.pow2(2 * Claims.scale(p, l, 4)));
            uint256 bias = _startOf(f, p, l, Claims.B0, outVars, t.step);
            f.addClaim(Ext.mul(Ext.neg(ofBias), bias), _output(f, p, t, f.tail(p, outVars)));
            if (!_isOneStep(p)) {
                Tensor memory g = _tensor(f, p, l, true);
                uint256 moved = _moved(f, p, g.steps, 0, t.step, t.step, false);
                f.addClaim(Ext.mul(Ext.mul(ofBias, f.real), g.selector), Ext.mul(moved, _output(f, p, t, g.units)));
            }
            Tensor memory a = _tensor(f, p, l - 1, false);
            uint256 steps = _sameStep(f, p, t.input - 32 * p.stepVars, t.step, a.steps, l == 1);
            uint256 axes = Ext.mul(steps, Ext.eq(t.input, a.units, inVars));
            axes = Ext.mul(axes, Ext.eq(leafEnd - 32 * p.batchVars, a.samples, p.batchVars));
            _close(f, p, t, t.input, Ext.mul(a.selector, axes), w);
        }
    }

    /// H = G·Wᵀ at the point of F3.
    function _backward(Flow memory f, Plan memory p, uint256 l, uint256 pointEnd, uint256 w)
        private
        pure
        returns (Term memory t)
    {
        unchecked {
            uint256 productEnd = f.product + 32 * FlowMessages.productVars(p);
            uint256 inVars = Claims.width(p, l - 1);
            uint256 outVars = Claims.width(p, l);
            t.layer = l;
            t.output = pointEnd - 32 * outVars;
            t.input = productEnd - 32 * (p.batchVars + inVars);
            t.step = t.input - 32 * p.stepVars;
            uint256 ofClaim = Ext.scale(w, Ext.inversePow2(p.stepVars + outVars));
            Claims.addTo(f.slots + 128 * (f.back + l - 2), 2, ofClaim);
            Tensor memory g = _tensor(f, p, l, true);
            uint256 steps = _sameStep(f, p, t.output - 32 * p.stepVars, t.step, g.steps, false);
            uint256 axes = Ext.mul(steps, Ext.eq(t.output, g.units, outVars));
            axes = Ext.mul(axes, Ext.eq(productEnd - 32 * p.batchVars, g.samples, p.batchVars));
            _close(f, p, t, t.output, Ext.mul(g.selector, axes), w);
        }
    }

    /// The product of a term and the definitions of its factors.
    function _close(Flow memory f, Plan memory p, Term memory t, uint256 contracted, uint256 tensor, uint256 w)
        private
        pure
    {
        unchecked {
            uint256 ofTensor = f.require_();
            f.addClaim(ofTensor, tensor);
            uint256 ofWeight;
            if (_isOneStep(p)) {
                ofWeight = f.require_();
                uint256 vars = Claims.width(p, t.layer - 1) + Claims.width(p, t.layer);
                f.addClaim(f.part(p, Claims.blockOf(t.layer, Claims.W0, vars), ofWeight), _weight(f, p, t));
            }
            t.slot = f.multiply(Ext.neg(ofTensor), Ext.neg(ofWeight), Ext.neg(w));
            t.step = contracted - 32 * p.stepVars;
        }
    }

    /// Σ over the real samples at the point. Over a full batch it is one: the value of an extension at the centre of the
    /// cube times the number of samples.
    function _real(Flow memory f, Plan memory p) private pure returns (uint256 sum) {
        unchecked {
            if (p.batch == 1 << p.batchVars) return Ext.ONE;
            uint256 table = Ext.eqTable(f.tail(p, p.batchVars), p.batchVars);
            for (uint256 b; b < p.batch; ++b) {
                sum = Ext.add(sum, Ext.get(table, b));
            }
        }
    }

    /// eq of the samples of F5 with those of the point, over all and over the real ones.
    function _counted(Flow memory f, Plan memory p, uint256 sample) private pure {
        unchecked {
            uint256 own = f.tail(p, p.batchVars);
            f.samples = Ext.eq(sample, own, p.batchVars);
            f.counted = p.batch == 1 << p.batchVars
                ? f.samples
                : Ext.dot(Ext.eqTable(sample, p.batchVars), Ext.eqTable(own, p.batchVars), p.batch);
        }
    }

    /// F5. `terms` holds those of F4 that F5 must prove too; the borders are added.
    function _update(Flow memory f, Plan memory p, Term[] memory terms, uint256 inner) private pure {
        unchecked {
            uint256 leafEnd = f.leaf + 32 * (p.lookupVars - 1);
            uint256 ends = f.k;
            if (_isUnit()) f.k += p.layers;
            for (uint256 l = 1; l <= p.layers; ++l) {
                uint256 outVars = Claims.width(p, l);
                Term memory t = terms[inner + l - 1];
                t.layer = l;
                t.output = leafEnd - 32 * outVars;
                t.input = t.output - 32 * Claims.width(p, l - 1);
                uint256 segment = t.output - 32 * _segmentVars(p);
                uint256 ofEnd;
                if (_isUnit()) (t.slot, ofEnd) = (ends + l - 1, f.require_());
                uint256 w = f.require_();
                uint256 parts = Ext.sub(
                    _startOf(f, p, l, Claims.B0, outVars, segment), _endOf(f, p, l, Claims.B0, outVars, segment)
                );
                parts = Ext.mul(w, parts);
                if (_isUnit()) parts = Ext.add(parts, Ext.mul(ofEnd, _lastOf(f, p, l, Claims.B0, outVars)));
                f.addClaim(parts, Ext.eq(t.output, f.tail(p, outVars), outVars));
                Tensor memory g = _tensor(f, p, l, true);
                uint256 moved = _moved(f, p, g.steps, 0, 0, segment, false);
                f.addClaim(
                    Ext.neg(Ext.mul(Ext.mul(w, f.real), g.selector)), Ext.mul(moved, Ext.eq(t.output, g.units, outVars))
                );
            }
            uint256 gamma = f.next();
            uint256 vars = Claims.rowVars(p);
            uint256 weight = f.eta(f.k + 2 * terms.length);
            uint256 point = f.sumcheck(0, vars, weight);
            _counted(f, p, point + 32 * p.stepVars);
            for (uint256 i; i < terms.length; ++i) {
                _updateTerm(f, p, terms[i], i < inner, point, weight);
                weight = Ext.mul(weight, gamma);
            }
            f.require_();
        }
    }

    function _updateTerm(Flow memory f, Plan memory p, Term memory t, bool isInner, uint256 point, uint256 w)
        private
        pure
    {
        unchecked {
            uint256 inVars = Claims.width(p, t.layer - 1);
            uint256 vars = inVars + Claims.width(p, t.layer);
            uint256 ofClaim = Ext.scale(w, Ext.inversePow2(Claims.rowVars(p)));
            uint256 segment = isInner ? t.step : t.input - 32 * _segmentVars(p);
            uint256 parts = _startOf(f, p, t.layer, Claims.W0, vars, segment);
            if (isInner) Claims.addTo(f.slots + 128 * t.slot, 2, Ext.neg(ofClaim));
            else parts = Ext.sub(parts, _endOf(f, p, t.layer, Claims.W0, vars, segment));
            parts = Ext.mul(parts, ofClaim);
            if (_isUnit() && !isInner) {
                parts = Ext.add(parts, Ext.mul(f.eta(t.slot), _lastOf(f, p, t.layer, Claims.W0, vars)));
            }
            f.addClaim(parts, _weight(f, p, t));
            (uint256 ofA, uint256 ofG) = (f.require_(), f.require_());
            f.multiply(Ext.neg(ofA), Ext.neg(ofG), Ext.neg(w));
            Tensor memory a = _tensor(f, p, t.layer - 1, false);
            uint256 axes = Ext.mul(Ext.eq(t.input, a.units, inVars), f.counted);
            uint256 moved = _moved(f, p, a.steps, point, isInner ? t.step : 0, segment, t.layer == 1);
            f.addClaim(Ext.mul(ofA, a.selector), Ext.mul(axes, moved));
            Tensor memory g = _tensor(f, p, t.layer, true);
            axes = Ext.mul(Ext.eq(point, g.steps, p.stepVars), f.samples);
            f.addClaim(Ext.mul(ofG, g.selector), Ext.mul(axes, _output(f, p, t, g.units)));
        }
    }
}
