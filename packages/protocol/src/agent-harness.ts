import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { harnessSchema } from './harness.ts'
import type { Harness } from './harness.ts'
import type { HarnessName } from './harness-variable.ts'

/** The npm package of each known harness, as its registry names it. */
export const harnessPackages: Readonly<Record<HarnessName, string>> = {
  'claude-code': '@agentclientprotocol/claude-agent-acp',
  codex: '@zed-industries/codex-acp',
  gemini: '@google/gemini-cli',
  opencode: 'opencode-ai',
}

/** The people's API for the program that drives an agent's runs. */
export const agentHarnessEndpoints = {
  agentHarness: {
    method: 'GET',
    path: '/api/agents/{id}/harness',
    summary: 'Return the program that drives an agent’s runs in place of the agent’s own loop.',
  },
  setAgentHarness: {
    method: 'PUT',
    path: '/api/agents/{id}/harness',
    summary: 'Replace the program that drives an agent’s runs, and add its package to the agent’s list.',
  },
} as const satisfies Record<string, Endpoint>

export type AgentHarnessEndpointName = keyof typeof agentHarnessEndpoints

export const agentHarnessViewSchema = z.strictObject({
  agent_id: z.string(),
  /** The agent whose harness applies: the root ancestor of an agent that agents created. */
  set_at: z.string(),
  /** Null for an agent that its own loop drives. */
  harness: z.nullable(harnessSchema),
})
export type AgentHarnessView = z.infer<typeof agentHarnessViewSchema>

export const agentHarnessApi = {
  agentHarness: { response: agentHarnessViewSchema },
  setAgentHarness: {
    request: z.strictObject({
      /** Null for the agent's own loop. */
      harness: z.nullable(harnessSchema),
      /** The harness that the editor saw; if it is another one by now, the change is rejected with `conflict`. */
      seen: z.optional(z.nullable(harnessSchema)),
    }),
    response: agentHarnessViewSchema,
  },
} as const satisfies Record<AgentHarnessEndpointName, EndpointSchemas>

/** The harness as a person reads it: its name, or its command line. Pure. */
export function formatHarness(harness: Harness): string {
  return typeof harness === 'string' ? harness : harness.command.join(' ')
}

/** Whether a package of a list, with or without a version, is this npm package. Pure. */
export function isNpmPackage(listed: string, name: string): boolean {
  return listed === name || listed.startsWith(`${name}@`)
}
