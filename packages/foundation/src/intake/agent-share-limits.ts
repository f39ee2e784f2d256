/** What one agent may make the mesh do and store, whatever it sends or answers. */
export const agentShareLimits = {
  /** Buffered bodies of calls, for all agents and for one of them; replies have the same limits again. */
  heldBytes: {
    max: 128 * 1024 * 1024,
    perAgentMax: 16 * 1024 * 1024,
    /** Reserved for each agent, up to `reserveMax` for all of them: for 128 agents. */
    floor: 256 * 1024,
    reserveMax: 32 * 1024 * 1024,
  },
  /** Agents' files that are buffered for people, until each person has downloaded theirs. */
  downloadBytes: {
    max: 128 * 1024 * 1024,
    perAgentMax: 32 * 1024 * 1024,
    floor: 256 * 1024,
    reserveMax: 32 * 1024 * 1024,
  },
  /** Running calls with an effect, those whose client has disconnected included. Floors for 128 agents. */
  effectsUnderWay: { max: 1024, perAgentMax: 64, floor: 4, reserveMax: 512 },
  /**
   * Answers of models that the mesh reads on after the client has disconnected. They count among an agent's open
   * calls. Floors for 32 agents.
   */
  readOn: { max: 128, perAgentMax: 16, floor: 2, reserveMax: 64 },
  /** Name look-ups. For this and the following limits, one place is reserved for each agent of the largest fleet. */
  lookups: { max: 1256, perAgentMax: 32, floor: 1, reserveMax: 1000 },
  /** Downloads of pictures and documents that prompts refer to by address. */
  mediaFetches: { max: 1032, perAgentMax: 4, floor: 1, reserveMax: 1000 },
  /** Connections through the forward proxy: each holds two sockets. */
  tunnels: { max: 2024, perAgentMax: 64, floor: 1, reserveMax: 1000 },
  /** Exchanges with MCP servers. */
  mcpExchanges: { max: 2024, perAgentMax: 32, floor: 1, reserveMax: 1000 },
  /** Connections to one provider that carry calls. An agent may not have more open calls in total. */
  providerConnections: { max: 1256, perAgentMax: 64, floor: 1, reserveMax: 1000 },
  /** Payments, simulations and contract reads that query chains and price sources. Floors for 100 agents. */
  walletCalls: { max: 132, perAgentMax: 16, floor: 1, reserveMax: 100 },
  /** Balance queries of agents. Floors for 100 agents. */
  walletBalances: { max: 116, perAgentMax: 8, floor: 1, reserveMax: 100 },
  /**
   * Time of the mesh's event loop for reading and carrying out an agent's calls; replies have the same limit
   * again.
   */
  loopMsPerMinute: 6000,
} as const
