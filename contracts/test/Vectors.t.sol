// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {BorderTree} from "../src/libraries/BorderTree.sol";
import {Statements} from "../src/libraries/Statements.sol";
import {Grant, Terms} from "../src/Types.sol";
import {vm} from "./Vm.sol";

/// I13: the digests of the file that also drives the TypeScript statements.
contract VectorsTest {
    string private _json;

    function setUp() public {
        _json = vm.readFile("contracts/test/vectors/statements.json");
    }

    function test_statements_have_the_digests_of_the_shared_vectors() public view {
        bytes32 job = this.jobOf(abi.decode(vm.parseJsonBytes(_json, ".terms"), (Terms)));
        _same(job, ".digests.job");
        address[] memory keys = new address[](2);
        (keys[0], keys[1]) = (_account(34), _account(35));
        _same(Statements.keysOf(keys), ".digests.keys");
        bytes32 run = Statements.run(job, 3, 2, _fill(31), _fill(32), _fill(33), Statements.keysOf(keys));
        _same(_signed(run), ".digests.run");
        _same(_signed(Statements.segment(job, 41, _fill(42), _fill(43))), ".digests.segment");
        Grant memory g = Grant(_fill(52), _fill(53), _account(54), _fill(56), _fill(57), _fill(58), 59, 60, "");
        _same(_signed(Statements.release(job, _account(51), _fill(55), g)), ".digests.release");
        _same(_signed(Statements.voucher(job, 61)), ".digests.voucher");
        _same(_signed(Statements.award(job, _account(71))), ".digests.award");
        _same(_signed(Statements.availability(job, _fill(72), 73)), ".digests.availability");
        bytes32 appraisal =
            Statements.appraisal(job, _account(81), _fill(82), _account(83), _fill(84), _fill(85), 86);
        _same(_signed(appraisal), ".digests.appraisal");
        _same(_signed(Statements.revocation(job, _account(91), _fill(92))), ".digests.revocation");
        _same(Statements.delivery(_fill(1), _fill(2)), ".digests.delivery");
    }

    function test_border_trees_have_the_roots_of_the_shared_vectors() public view {
        _tree(1, ".roots.1");
        _tree(2, ".roots.2");
        _tree(3, ".roots.3");
        _tree(4, ".roots.4");
        _tree(5, ".roots.5");
        _tree(148, ".roots.148");
    }

    function test_samples_have_the_segments_of_the_shared_vectors() public view {
        bytes32 seed = vm.parseJsonBytes32(_json, ".sample.seed");
        uint256 upTo = vm.parseJsonUint(_json, ".sample.upTo");
        uint256[] memory expected = vm.parseJsonUintArray(_json, ".sample.segments");
        for (uint256 a = 0; a < expected.length; ++a) {
            require(uint256(keccak256(abi.encode(seed, a))) % upTo == expected[a], "sample");
        }
    }

    /// Every leaf is found by its path, and by no other border, index, count or length of path.
    function testFuzz_border_paths(uint256 count, uint256 index, bytes32 seed) public view {
        count = 1 + count % 40;
        index = index % count;
        bytes32[] memory borders = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) borders[i] = keccak256(abi.encode(seed, i));
        (bytes32 root, bytes32[] memory path) = _plain(borders, index);
        require(this.rootOf(borders) == root, "root");
        require(this.contains(root, count, index, borders[index], path), "own leaf");
        require(!this.contains(root, count, index, seed, path), "other border");
        require(!this.contains(root, count, index + count, borders[index], path), "index outside");
        if (count > 1) require(!this.contains(root, count, index ^ 1, borders[index], path), "other index");
        bytes32[] memory longer = new bytes32[](path.length + 1);
        require(!this.contains(root, count, index, borders[index], longer), "longer path");
    }

    function jobOf(Terms calldata terms) external pure returns (bytes32) {
        return Statements.job(terms);
    }

    function rootOf(bytes32[] calldata borders) external pure returns (bytes32) {
        return BorderTree.rootOf(borders);
    }

    function contains(bytes32 root, uint256 count, uint256 index, bytes32 border, bytes32[] calldata path)
        external
        pure
        returns (bool)
    {
        return BorderTree.contains(root, count, index, border, path);
    }

    /// Root and path by the definition, without the library.
    function _plain(bytes32[] memory borders, uint256 index)
        private
        pure
        returns (bytes32 root, bytes32[] memory path)
    {
        uint256 width = 1;
        uint256 depth;
        for (; width < borders.length; width *= 2) ++depth;
        bytes32[] memory level = new bytes32[](width);
        for (uint256 i = 0; i < borders.length; ++i) level[i] = keccak256(bytes.concat(bytes1(0x01), borders[i]));
        path = new bytes32[](depth);
        for (uint256 height = 0; height < depth; ++height) {
            path[height] = level[(index >> height) ^ 1];
            width /= 2;
            for (uint256 i = 0; i < width; ++i) level[i] = keccak256(bytes.concat(level[2 * i], level[2 * i + 1]));
        }
        root = level[0];
    }

    function _tree(uint256 count, string memory key) private view {
        bytes32[] memory borders = new bytes32[](count);
        for (uint256 i = 0; i < count; ++i) borders[i] = keccak256(abi.encode(_fill(uint8(i))));
        _same(this.rootOf(borders), key);
    }

    function _signed(bytes32 structHash) private view returns (bytes32) {
        return Statements.digest(_account(0xc0), structHash);
    }

    function _same(bytes32 got, string memory key) private view {
        require(got == vm.parseJsonBytes32(_json, key), key);
    }

    function _fill(uint8 value) private pure returns (bytes32) {
        return bytes32(uint256(value) * (type(uint256).max / 255));
    }

    function _account(uint8 value) private pure returns (address) {
        return address(uint160(uint256(_fill(value))));
    }
}
