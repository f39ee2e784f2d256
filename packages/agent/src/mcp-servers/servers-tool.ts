import type { McpServerStatus } from '@flotilla/protocol/mcp-api'
import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { text, withDefault } from '../tools/parameters.ts'
import { defineTool } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'

const summaryMaxChars = 1500
const restartMaxMs = 130_000

/** The tool that reports on an agent's MCP servers, also when one of them does not run. */
export function serversTool(deps: {
  readonly statuses: () => readonly McpServerStatus[]
  /** Restarts the server; resolves to false if no server has this name. */
  readonly restart: (name: string) => Promise<boolean>
}): { readonly name: string; tool(): Tool } {
  const name = 'mcp_servers'
  return {
    name,
    tool: () =>
      defineTool({
        name,
        description: truncatePromptText(
          sanitizeForPrompt(
            `Shows your MCP servers: their state, why one does not run, and which tools they offer. Now: ${deps.statuses().map(summary).join('; ')}`,
          ),
          summaryMaxChars,
          ' [cut]',
        ),
        parameters: {
          restart: withDefault(
            text('Name of a server that failed, to start it again now', { maxChars: 64 }),
            '',
          ),
        },
        effect: 'local',
        deferred: true,
        timeoutMs: restartMaxMs,
        run: async ({ restart }) => {
          if (restart !== '' && !(await deps.restart(restart))) {
            return { output: `There is no MCP server ${restart}.`, ok: false }
          }
          return { output: { servers: deps.statuses() }, ok: true }
        },
      }),
  }
}

/** Describes a server without the reason of its state, which is often the server's own, untrusted text. */
function summary({ name, state, tools }: McpServerStatus): string {
  return state === 'running' ? `${name}: ${tools.length} tools` : `${name}: ${state}`
}
