// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// Arguments of any function, well formed for its signature: random where the type leaves a choice. A word is often one
/// of those given, so that it may name something that exists.
library AbiPayload {
    uint256 private constant LIST_MAX = 3;
    uint256 private constant BYTES_MAX = 200;

    struct Source {
        bytes signature; // as in an artefact's methodIdentifiers: name(type,…)
        uint256[] known;
        uint256 random;
    }

    /// @return the selector and the encoded arguments
    function call(Source memory s) internal pure returns (bytes memory) {
        uint256 start;
        while (s.signature[start] != "(") ++start;
        (bytes memory arguments,) = _value(s, start, s.signature.length);
        return abi.encodePacked(bytes4(keccak256(s.signature)), arguments);
    }

    /// A value of the type that stands in the signature from `from` to `to`, and whether its length varies.
    function _value(Source memory s, uint256 from, uint256 to) private pure returns (bytes memory, bool) {
        if (s.signature[to - 1] == "]") return _list(s, from, to);
        if (s.signature[from] == "(") return _tuple(s, from + 1, to - 1);
        if (s.signature[from] == "s" || (to - from == 5 && s.signature[from + 1] == "y")) return (_bytes(s), true);
        return (abi.encode(_word(s, from, to)), false);
    }

    function _list(Source memory s, uint256 from, uint256 to) private pure returns (bytes memory, bool) {
        uint256 open = to - 1;
        while (s.signature[open] != "[") --open;
        bool counted = open == to - 2;
        uint256 count = counted ? _draw(s, LIST_MAX + 1) : _number(s, open + 1, to - 1);
        bytes[] memory parts = new bytes[](count);
        bool[] memory varies = new bool[](count);
        bool any;
        for (uint256 i = 0; i < count; ++i) {
            (parts[i], varies[i]) = _value(s, from, open);
            any = any || varies[i];
        }
        bytes memory all = _join(parts, varies);
        return counted ? (abi.encodePacked(count, all), true) : (all, any);
    }

    function _tuple(Source memory s, uint256 from, uint256 to) private pure returns (bytes memory, bool any) {
        bytes[] memory parts = new bytes[](to - from);
        bool[] memory varies = new bool[](to - from);
        uint256 count;
        while (from < to) {
            uint256 end = from;
            uint256 depth;
            while (end < to && (depth != 0 || s.signature[end] != ",")) {
                if (s.signature[end] == "(") ++depth;
                if (s.signature[end] == ")") --depth;
                ++end;
            }
            (parts[count], varies[count]) = _value(s, from, end);
            any = any || varies[count];
            ++count;
            from = end + 1;
        }
        assembly ("memory-safe") {
            mstore(parts, count)
            mstore(varies, count)
        }
        return (_join(parts, varies), any);
    }

    /// Heads, then tails.
    function _join(bytes[] memory parts, bool[] memory varies) private pure returns (bytes memory) {
        uint256 at_;
        for (uint256 i = 0; i < parts.length; ++i) at_ += varies[i] ? 32 : parts[i].length;
        bytes memory heads;
        bytes memory tails;
        for (uint256 i = 0; i < parts.length; ++i) {
            if (varies[i]) {
                heads = abi.encodePacked(heads, at_ + tails.length);
                tails = abi.encodePacked(tails, parts[i]);
            } else {
                heads = abi.encodePacked(heads, parts[i]);
            }
        }
        return abi.encodePacked(heads, tails);
    }

    function _bytes(Source memory s) private pure returns (bytes memory) {
        uint256 length = _draw(s, BYTES_MAX);
        bytes memory data;
        for (uint256 i = 0; i < length; i += 32) data = abi.encodePacked(data, _known(s));
        bytes memory padded = abi.encodePacked(length, data);
        return padded;
    }

    /// Of a type that fills one word: uintN, bytesN, address, bool.
    function _word(Source memory s, uint256 from, uint256 to) private pure returns (uint256 value) {
        bytes1 first = s.signature[from];
        value = _known(s);
        if (first == "u") return value & _ones(_number(s, from + 4, to));
        if (s.signature[from + 1] == "y") return value & ~_ones(256 - 8 * _number(s, from + 5, to));
        require(first == "a" || s.signature[from + 1] == "o", "a type that this library does not write");
        return first == "a" ? value & _ones(160) : value & 1;
    }

    function _known(Source memory s) private pure returns (uint256) {
        uint256 kind = _draw(s, 8);
        if (kind < 4) return s.known[_draw(s, s.known.length)];
        if (kind < 6) return _draw(s, 5);
        return kind == 6 ? type(uint256).max : uint256(keccak256(abi.encode(s.random)));
    }

    function _number(Source memory s, uint256 from, uint256 to) private pure returns (uint256 n) {
        for (uint256 i = from; i < to; ++i) n = 10 * n + uint8(s.signature[i]) - 48;
    }

    function _ones(uint256 bits) private pure returns (uint256) {
        return bits == 256 ? type(uint256).max : (1 << bits) - 1;
    }

    function _draw(Source memory s, uint256 n) private pure returns (uint256) {
        s.random = uint256(keccak256(abi.encode(s.random)));
        return s.random % n;
    }
}
