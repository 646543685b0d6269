// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

contract TestToken is ERC20("Test token", "TEST") {
    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }
}
