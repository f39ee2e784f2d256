import type { Endpoint } from './endpoint.ts'

/** The record of a replayed run, for the agent that replays it. */
export const replayAgentEndpoints = {
  recordedCall: {
    method: 'POST',
    path: '/mesh/replay/call',
    summary: 'The result of a call of a tool as it was recorded',
  },
  recordedHistory: {
    method: 'GET',
    path: '/mesh/replay/history',
    summary: 'The conversation before the turn that is played again, and what was said in its middle',
  },
} as const satisfies Record<string, Endpoint>

/** Ids that a replay gives to recorded tool calls: `recorded_<answer>_<call>`, both from 0. Models make no such ids. */
export const recordedCallPattern = /^recorded_(\d{1,6})_(\d{1,4})$/

/** Conversations of replays and forks; only in these does an agent request the recorded history. */
export const replaySessionPattern = /^(?:replay|fork):/
