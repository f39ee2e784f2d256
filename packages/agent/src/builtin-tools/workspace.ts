import { workspaceFiles } from '@flotilla/protocol/workspace-file'
import { choice, text } from '../tools/parameters.ts'
import { defineTool, succeeded } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'
import type { Workspace } from '../workspace/workspace.ts'

const writable = workspaceFiles.filter((file) => file.agentMayWrite).map((file) => file.name)
/** The maximum length of a new content; it also bounds workspace files that have no limit of their own. */
const contentMaxChars = 32_000
const workspaceTimeoutMs = 30_000

/** The agent's own memory and style files, which later prompts include. */
export function workspaceTools(deps: { workspace: Workspace }): Tool[] {
  return [
    defineTool({
      name: 'update_workspace',
      description:
        'Replaces one of your own workspace files: INSTRUCTIONS.md, SOUL.md, USER.md and MEMORY.md, which you read at the start of every run, or HEARTBEAT.md, your rules for heartbeats. The previous content is kept in workspace/backups.',
      parameters: {
        filename: choice('Which file', writable),
        content: text('The whole new content', { maxChars: contentMaxChars }),
      },
      effect: 'local',
      timeoutMs: workspaceTimeoutMs,
      run: async (values) => succeeded(await deps.workspace.write(values.filename, values.content)),
    }),
  ]
}
