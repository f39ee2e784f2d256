import type { Endpoint } from './endpoint.ts'

/** The record of a replayed run, for the agent that replays it. */
export const replayAgentEndpoints = {
  recordedCall: {
    method: 'POST',
    path: '/mesh/replay/call',
    summary: 'Return the recorded result of a tool call.',
  },
  recordedHistory: {
    method: 'GET',
    path: '/mesh/replay/history',
    summary: 'Return the conversation before the replayed turn, and the messages sent during it.',
  },
} as const satisfies Record<string, Endpoint>

/**
 * Ids that a replay gives to recorded tool calls: `recorded_<answer>_<call>`, both from 0. Models make no such
 * ids.
 */
export const recordedCallPattern = /^recorded_(\d{1,6})_(\d{1,4})$/

/** Conversations of replays and forks; only in these does an agent request the recorded history. */
export const replaySessionPattern = /^(?:replay|fork):/
