/**
 * Limits of the memory, connections and time of the mesh that all agents together, and one agent, may use, whatever
 * an agent sends or answers.
 */
export const agentShareLimits = {
  /** The bytes of buffered request bodies, for all agents and for one agent; replies have the same limits again. */
  heldBytes: {
    max: 128 * 1024 * 1024,
    perAgentMax: 16 * 1024 * 1024,
    /** Reserved for each agent, up to `reserveMax` for all of them: for 128 agents. */
    floor: 256 * 1024,
    reserveMax: 32 * 1024 * 1024,
  },
  /** The bytes of agents' files that are buffered for people, until each person has downloaded theirs. */
  downloadBytes: {
    max: 128 * 1024 * 1024,
    perAgentMax: 32 * 1024 * 1024,
    floor: 256 * 1024,
    reserveMax: 32 * 1024 * 1024,
  },
  /**
   * The number of calls with an effect that are in progress, including those whose client has disconnected. Floors
   * for 128 agents.
   */
  effectsUnderWay: { max: 1024, perAgentMax: 64, floor: 4, reserveMax: 512 },
  /**
   * The number of model answers that the mesh reads to their end after the client has disconnected. They count among
   * an agent's open calls. Floors for 32 agents.
   */
  readOn: { max: 128, perAgentMax: 16, floor: 2, reserveMax: 64 },
  /**
   * The number of DNS look-ups in progress. For this and the following limits, one place is reserved for each agent
   * of the largest fleet.
   */
  lookups: { max: 1256, perAgentMax: 32, floor: 1, reserveMax: 1000 },
  /** The number of downloads in progress of pictures and documents that prompts refer to by address. */
  mediaFetches: { max: 1032, perAgentMax: 4, floor: 1, reserveMax: 1000 },
  /** The number of open connections through the egress proxy: each holds two sockets. */
  tunnels: { max: 2024, perAgentMax: 64, floor: 1, reserveMax: 1000 },
  /** The number of requests to MCP servers in progress. */
  mcpExchanges: { max: 2024, perAgentMax: 32, floor: 1, reserveMax: 1000 },
  /** The number of busy connections to one provider. An agent may not have more open calls in total. */
  providerConnections: { max: 1256, perAgentMax: 64, floor: 1, reserveMax: 1000 },
  /**
   * The number of payments, simulations and contract reads in progress, which query chains and price sources. Floors
   * for 100 agents.
   */
  walletCalls: { max: 132, perAgentMax: 16, floor: 1, reserveMax: 100 },
  /** The number of agents' balance queries in progress. Floors for 100 agents. */
  walletBalances: { max: 116, perAgentMax: 8, floor: 1, reserveMax: 100 },
  /**
   * How long the mesh's event loop may work in a minute to read and carry out one agent's calls, in milliseconds;
   * replies have the same limit again.
   */
  loopMsPerMinute: 6000,
} as const
