import { randomUUID } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import { blackboardTools } from './builtin-tools/blackboard.ts'
import { fileTools } from './builtin-tools/files.ts'
import { handOffTools } from './builtin-tools/hand-off.ts'
import { httpTools } from './builtin-tools/http.ts'
import { memoryTools } from './builtin-tools/memory.ts'
import { messageTools } from './builtin-tools/messages.ts'
import { shellTools } from './builtin-tools/shell.ts'
import { vaultTools } from './builtin-tools/vault.ts'
import { workspaceTools } from './builtin-tools/workspace.ts'
import { composeContext } from './compose-context.ts'
import type { AgentEnvironment } from './environment.ts'
import type { DataFiles } from './files/data-files.ts'
import { keepReserve } from './files/state-file.ts'
import { createMeshModel } from './llm/mesh-model.ts'
import { createMcpRoom } from './mcp-servers/mcp-room.ts'
import type { McpRoom } from './mcp-servers/mcp-room.ts'
import type { Log } from './log.ts'
import { createLearnings, readLearnings } from './learnings/learnings.ts'
import type { Checkpoints } from './loop/checkpoints.ts'
import { createPerformRun } from './loop/perform-run.ts'
import type { PerformRun } from './loop/run-desk.ts'
import type { Sessions } from './loop/sessions.ts'
import { keepFacts } from './memory/keep-facts.ts'
import { createMemory } from './memory/memory.ts'
import { createMeshHttp } from './mesh/mesh-http.ts'
import type { RunMesh } from './mesh/run-mesh.ts'
import { joinBootstrap, readBootstrapFiles } from './prompt/bootstrap-files.ts'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { buildSystemPrompt } from './prompt/build-system-prompt.ts'
import { createSkillRoom } from './skills/skill-room.ts'
import type { Tool } from './tools/tool.ts'
import type { Workspace } from './workspace/workspace.ts'

/** Of a system prompt. */
const learningsMaxChars = 3000

export interface RunParts {
  readonly perform: PerformRun
  readonly tools: readonly Tool[]
  readonly mcp: Pick<McpRoom, 'tools' | 'statuses'>
  close(): Promise<void>
}

/** The half of the composition that the first run loads: schemas, child processes, the way to the mesh. */
export function composeRuns(deps: {
  environment: AgentEnvironment
  doorToken: string
  files: DataFiles
  workspace: Workspace
  sessions: Sessions
  checkpoints: Checkpoints
  clock: Clock
  log: Log
}): RunParts {
  const { environment, files, workspace, sessions, checkpoints, clock, log } = deps
  const meshHttp = createMeshHttp({ ...environment.mesh, doorToken: deps.doorToken, clock, log })
  const { dataDirectory, embeddingModel } = environment
  const memory = createMemory({ dataDirectory, embeddingModel, clock, log })
  const learnings = createLearnings({ files, clock, log })
  const tools = [
    ...shellTools({ files, environment: environment.programEnvironment, clock }),
    ...fileTools({ files }),
    ...httpTools(),
    ...blackboardTools(),
    ...handOffTools(),
    ...messageTools({ files }),
    ...workspaceTools({ workspace }),
    ...vaultTools(),
    ...memoryTools({ memory, embeddingModel }),
  ]
  const { agentId, role, kind } = environment
  const skills = createSkillRoom({ files, newNonce: () => randomUUID(), clock })
  const mcp = createMcpRoom({
    briefingDirectory: environment.briefingDirectory,
    environment: environment.programEnvironment,
    directory: dataDirectory,
    clock,
    log,
  })
  const toolsFor = async (mesh: RunMesh, signal: AbortSignal): Promise<readonly Tool[]> => {
    if (kind !== 'operator') return tools
    const { allowedOperatorTools } = await import('./builtin-tools/operator.ts')
    try {
      return [...tools, ...(await allowedOperatorTools({ mesh, signal }))]
    } catch (error) {
      signal.throwIfAborted()
      log.warn({ err: error }, 'the mesh does not say what the operator may use')
      return tools
    }
  }
  const systemPrompt = async (mode: 'chat' | 'task') => {
    const bootstrap = joinBootstrap(await readBootstrapFiles(workspace))
    return buildSystemPrompt({
      agentId,
      role: sanitizeForPrompt(role),
      kind,
      mode,
      bootstrap,
      learnings: await readLearnings(files, learningsMaxChars),
      now: clock.now(),
    })
  }
  const { context, recordRun } = composeContext({
    environment,
    files,
    factKeeper: keepFacts({ memory, embeddingModel }),
    clock,
    log,
  })
  const perform = createPerformRun({
    shared: {
      context,
      recordRun,
      bounds: environment,
      sessions,
      checkpoints,
      clock,
      learnings,
      systemPrompt,
    },
    meshHttp,
    toolsFor: async (mesh, signal) => {
      const tools = await toolsFor(mesh, signal)
      return mcp.offer(await skills.offer(tools, { mesh, signal, shown: mcp.arrange }), { mesh, signal })
    },
    keepReserve: () => keepReserve(environment.dataDirectory),
    modelFor: (mesh) => createMeshModel({ mesh, model: environment.model, clock }),
    log,
  })
  const close = async () => {
    await Promise.all([memory.close(), mcp.close()])
    meshHttp.close()
  }
  return { perform, tools, mcp, close }
}
