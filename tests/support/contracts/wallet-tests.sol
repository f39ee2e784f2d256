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

/// A token whose logs are wrong: it moves more than was ordered, logs less, and forges transfers of others.
contract Liar {
    string public symbol;
    uint8 public constant decimals = 6;
    uint256 public immutable movedPercent;
    uint256 public immutable loggedPercent;
    /// 1: logs that as much came back to the sender; 2: logs transfers between two others.
    uint256 public immutable forges;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    constructor(string memory named, uint256 moved, uint256 logged, uint256 forged) {
        symbol = named;
        movedPercent = moved;
        loggedPercent = logged;
        forges = forged;
    }

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
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
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    /// Moves what the caller has, under a name that states no amount.
    function sweep(address to) external {
        move(msg.sender, to, balanceOf[msg.sender] / 2);
    }

    function move(address from, address to, uint256 value) private {
        uint256 moved = (value * movedPercent) / 100;
        balanceOf[from] -= moved;
        balanceOf[to] += moved;
        if (loggedPercent > 0) emit Transfer(from, to, (value * loggedPercent) / 100);
        if (forges == 1) emit Transfer(to, from, moved);
        if (forges == 2) emit Transfer(address(this), address(0xdead), moved);
    }
}

/// Takes tokens that the arguments of its call do not name.
contract Router {
    Liar[] private tokens;
    address private immutable taker;

    constructor(address to) {
        taker = to;
    }

    function add(Liar token) external {
        tokens.push(token);
    }

    /// As much of each token as it was allowed to take, at most `value`.
    function route(uint256 value) public payable {
        for (uint256 i = 0; i < tokens.length; i++) {
            uint256 allowed = tokens[i].allowance(msg.sender, address(this));
            tokens[i].transferFrom(msg.sender, taker, value < allowed ? value : allowed);
        }
    }

    /// A plain payment of the coin does the same.
    receive() external payable {
        route(300);
    }

    /// The same one call deeper.
    function routeDeep(uint256 value) external {
        (bool ok, ) = address(this).delegatecall(abi.encodeCall(this.route, (value)));
        require(ok);
    }

    /// Of collectibles, which an operator may take.
    function takeSingle(Singles singles, uint256 id) external {
        singles.transferFrom(msg.sender, taker, id);
    }

    /// Takes one and gives another of the same collection, which leaves the balance as it is.
    function swapSingle(Singles singles, uint256 taken, uint256 given) external {
        singles.transferFrom(msg.sender, taker, taken);
        singles.mint(msg.sender, given);
    }

    function takeHidden() external {
        for (uint256 i = 0; i < tokens.length; i++) Singles(address(tokens[i])).transferFrom(msg.sender, taker, 7);
    }

    function takeManyHidden(uint256 value) external {
        for (uint256 i = 0; i < tokens.length; i++) {
            Manies(address(tokens[i])).safeTransferFrom(msg.sender, taker, 7, value, "");
        }
    }
}

/// Collectibles as ERC-721 has them; `silent` ones write no log of a transfer.
contract Singles {
    bool public immutable silent;
    mapping(uint256 => address) public ownerOf;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => bool)) public isApprovedForAll;

    event Transfer(address indexed from, address indexed to, uint256 indexed id);
    event ApprovalForAll(address indexed owner, address indexed operator, bool approved);

    constructor(bool isSilent) {
        silent = isSilent;
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == 0x01ffc9a7 || id == 0x80ac58cd;
    }

    function mint(address to, uint256 id) external {
        ownerOf[id] = to;
        balanceOf[to] += 1;
        emit Transfer(address(0), to, id);
    }

    function setApprovalForAll(address operator, bool approved) external {
        isApprovedForAll[msg.sender][operator] = approved;
        emit ApprovalForAll(msg.sender, operator, approved);
    }

    function transferFrom(address from, address to, uint256 id) external {
        require(ownerOf[id] == from && (from == msg.sender || isApprovedForAll[from][msg.sender]), "not yours");
        ownerOf[id] = to;
        balanceOf[from] -= 1;
        balanceOf[to] += 1;
        if (!silent) emit Transfer(from, to, id);
    }
}

/// Collectibles in amounts as ERC-1155 has them; `silent` ones write no log of a transfer.
contract Manies {
    bool public immutable silent;
    mapping(address => mapping(uint256 => uint256)) private held;
    mapping(address => mapping(address => bool)) public isApprovedForAll;

    event TransferSingle(
        address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value
    );
    event TransferBatch(
        address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values
    );
    event ApprovalForAll(address indexed owner, address indexed operator, bool approved);

    constructor(bool isSilent) {
        silent = isSilent;
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == 0x01ffc9a7 || id == 0xd9b67a26;
    }

    function balanceOf(address owner, uint256 id) external view returns (uint256) {
        return held[owner][id];
    }

    function mint(address to, uint256 id, uint256 value) external {
        held[to][id] += value;
        emit TransferSingle(msg.sender, address(0), to, id, value);
    }

    function setApprovalForAll(address operator, bool approved) external {
        isApprovedForAll[msg.sender][operator] = approved;
        emit ApprovalForAll(msg.sender, operator, approved);
    }

    function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes calldata) external {
        take(from, to, id, value);
        if (!silent) emit TransferSingle(msg.sender, from, to, id, value);
    }

    function safeBatchTransferFrom(
        address from, address to, uint256[] calldata ids, uint256[] calldata values, bytes calldata
    ) external {
        for (uint256 i = 0; i < ids.length; i++) take(from, to, ids[i], values[i]);
        if (!silent) emit TransferBatch(msg.sender, from, to, ids, values);
    }

    function take(address from, address to, uint256 id, uint256 value) private {
        require(from == msg.sender || isApprovedForAll[from][msg.sender], "not yours");
        held[from][id] -= value;
        held[to][id] += value;
    }
}
