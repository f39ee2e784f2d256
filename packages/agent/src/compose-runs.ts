import { randomUUID } from 'node:crypto'
import type { Clock } from '@flotilla/protocol/clock'
import { builtinTools } from './builtin-tools/builtin-tools.ts'
import { subagentTools, tellsOfUnread } from './builtin-tools/subagents.ts'
import { composeContext } from './compose-context.ts'
import type { AgentEnvironment } from './environment.ts'
import type { DataFiles } from './files/data-files.ts'
import { keepReserve, tryState } from './files/state-file.ts'
import { createImageStore } from './images/image-store.ts'
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
import { believedNames } from './memory/trust.ts'
import { createMemory } from './memory/memory.ts'
import { createMeshHttp } from './mesh/mesh-http.ts'
import type { RunMesh } from './mesh/run-mesh.ts'
import { joinBootstrap, readBootstrapFiles } from './prompt/bootstrap-files.ts'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { buildSystemPrompt } from './prompt/build-system-prompt.ts'
import type { PromptMode } from './prompt/build-system-prompt.ts'
import { createSkillRoom } from './skills/skill-room.ts'
import { createCrew } from './subagents/crew.ts'
import type { Crew } from './subagents/crew.ts'
import { createExclusiveUse } from './tools/exclusive-use.ts'
import { askHeldTools, nothingHeld, withholdTools } from './tools/held-tools.ts'
import type { HeldTools } from './tools/held-tools.ts'
import type { Tool } from './tools/tool.ts'
import type { Workspace } from './workspace/workspace.ts'

/** Of a system prompt. */
const learningsMaxChars = 3000

export interface RunParts {
  readonly perform: PerformRun
  /** The agent's own, with the skills it has written so far. */
  readonly tools: () => readonly Pick<Tool, 'definition' | 'source'>[]
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
  const exclusive = createExclusiveUse()
  const tools = builtinTools({
    files,
    workspace,
    memory,
    embeddingModel,
    dataDirectory,
    programEnvironment: environment.programEnvironment,
    clock,
  }).map((tool) => exclusive.guard(tool))
  const { agentId, role, kind } = environment
  const ownNames = [...tools.map(({ definition }) => definition.name), ...believedNames]
  const skills = createSkillRoom({ files, ownNames, newNonce: () => randomUUID(), clock })
  const mcp = createMcpRoom({
    ownNames,
    briefingDirectory: environment.briefingDirectory,
    environment: environment.programEnvironment,
    directory: dataDirectory,
    clock,
    log,
  })
  const images = createImageStore(dataDirectory)
  const heldFor = async (mesh: RunMesh, signal: AbortSignal): Promise<HeldTools> => {
    try {
      return await askHeldTools(mesh, signal)
    } catch (error) {
      signal.throwIfAborted()
      log.warn({ err: error }, 'the mesh does not say which tools it would refuse')
      return nothingHeld
    }
  }
  const toolsFor = async (mesh: RunMesh, held: HeldTools, signal: AbortSignal): Promise<readonly Tool[]> => {
    const own = withholdTools(tools, held)
    if (kind !== 'operator') return own
    const { allowedOperatorTools } = await import('./builtin-tools/operator.ts')
    try {
      return [...own, ...(await allowedOperatorTools({ mesh, signal }))]
    } catch (error) {
      signal.throwIfAborted()
      log.warn({ err: error }, 'the mesh does not say what the operator may use')
      return own
    }
  }
  const systemPrompt = async (mode: PromptMode) => {
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
  const newCrew = () => createCrew({ depth: 0, systemPrompt: () => systemPrompt('subagent'), exclusive, log })
  const { context, recordRun, recordHeartbeat } = composeContext({
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
      recordHeartbeat,
      bounds: environment,
      sessions,
      checkpoints,
      clock,
      learnings,
      images,
      systemPrompt,
    },
    meshHttp,
    heldFor,
    newCrew,
    toolsFor: async ({ mesh, held, crew, signal }) => {
      const own = withCrew(await toolsFor(mesh, held, signal), crew)
      return mcp.offer(await skills.offer(own, { mesh, signal, shown: mcp.arrange }), { mesh, signal })
    },
    keepReserve: () => keepReserve(environment.dataDirectory),
    tryState: () => tryState(environment.dataDirectory),
    modelFor: (mesh, { seesImages }, { onFrame }) =>
      createMeshModel({
        mesh,
        model: environment.model,
        clock,
        images,
        seesImages,
        onWait: (wait) => onFrame({ type: 'model_wait', ...wait }),
      }),
    log,
  })
  const close = async () => {
    await Promise.all([memory.close(), mcp.close()])
    meshHttp.close()
  }
  const own = withCrew(tools, newCrew())
  return { perform, tools: () => [...own, ...skills.listed()], mcp, close }
}

function withCrew(tools: readonly Tool[], crew: Crew): readonly Tool[] {
  return [...tellsOfUnread(tools, crew), ...subagentTools(crew)]
}
