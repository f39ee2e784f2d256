// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// A token of any decimals. `feePercent` of each transfer goes to nobody, `silent` ones write no log of it.
contract Token {
    string public symbol;
    uint8 public immutable decimals;
    uint256 public immutable feePercent;
    bool public immutable silent;
    bool public reverting;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    constructor(string memory named, uint8 digits, uint256 fee, bool isSilent) {
        symbol = named;
        decimals = digits;
        feePercent = fee;
        silent = isSilent;
    }

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function setReverting(bool now_) external {
        reverting = now_;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        allowance[from][msg.sender] -= value;
        move(from, to, value);
        return true;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allow(msg.sender, spender, value);
        return true;
    }

    /// As EIP-2612 has it, for whoever signed: here, whoever calls.
    function permit(address owner, address spender, uint256 value, uint256, uint8, bytes32, bytes32) external {
        require(owner == msg.sender, "not yours");
        allow(owner, spender, value);
    }

    function move(address from, address to, uint256 value) private {
        require(!reverting, "transfers are paused");
        balanceOf[from] -= value;
        balanceOf[to] += value - (value * feePercent) / 100;
        if (!silent) emit Transfer(from, to, value);
    }

    function allow(address owner, address spender, uint256 value) private {
        allowance[owner][spender] = value;
        emit Approval(owner, spender, value);
    }
}

/// Takes of a token what it was allowed to: a little while it is watched, and all once it is armed.
contract Taker {
    uint256 public armed;

    function take(Token token, uint256 value) external {
        token.transferFrom(msg.sender, address(this), armed == 0 ? value : token.allowance(msg.sender, address(this)));
    }

    /// Several calls of others in one.
    function batch(Token[] calldata tokens, address[] calldata to, uint256[] calldata values) external payable {
        for (uint256 i = 0; i < tokens.length; i++) tokens[i].transferFrom(msg.sender, to[i], values[i]);
    }

    receive() external payable {}
}
