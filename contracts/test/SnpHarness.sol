// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {RsaPss} from "../src/snp/RsaPss.sol";
import {Sha2} from "../src/snp/Sha2.sol";

contract SnpHarness {
    function sha384(bytes memory data) external pure returns (bytes memory) {
        return Sha2.sha384(data);
    }

    function sha512(bytes memory data) external pure returns (bytes memory) {
        return Sha2.sha512(data);
    }

    function pss(bytes memory hash, bytes calldata signature, bytes calldata modulus) external view returns (bool) {
        return RsaPss.verify(hash, signature, modulus);
    }
}
