import { join } from 'node:path'
import type Dockerode from 'dockerode'
import { agentSandbox } from '../packages/fleet/src/agents/lifecycle/agent-sandbox.ts'
import { agentSize } from '../packages/fleet/src/sandbox/default-agent-sizes.ts'
import { containerOptions } from '../packages/fleet/src/sandbox/hardening/container-options.ts'
import { atStartShare } from '../packages/fleet/src/sandbox/docker/own-share.ts'
import { startShareOf } from '../packages/fleet/src/sandbox/start-shares.ts'
import { writeFileAtomically } from '../packages/foundation/src/config/atomic-file.ts'
import { randomToken } from '../packages/foundation/src/platform/system-clock.ts'
import type { BenchGround } from './container-ground.ts'

export type VariantName = 'static' | 'bare' | 'agent'
export type AgentKind = 'operator' | 'worker'

/** A container that differs from the others of its kind only in its program. */
export interface Variant {
  readonly name: VariantName
  readonly label: string
  options(agentId: string, kind: AgentKind): Dockerode.ContainerCreateOptions
  /**
   * Writes the files that the process reads at its start; resolves to the token with which the mesh authenticates.
   */
  lay(): Promise<string>
}

const staticPath = '/opt/flotilla/static-server'
const barePath = '/opt/flotilla/bare-server.cjs'
/** No process listens at this port: an agent calls its mesh only when it works. */
const meshPort = 8420

/** The agent as the fleet starts it, and two baselines in the same container with another command and program. */
export function containerVariants(ground: BenchGround): Readonly<Record<VariantName, Variant>> {
  const specOf = (agentId: string, kind: AgentKind) => ({
    ...agentSandbox({
      agent: {
        id: agentId,
        kind,
        role: 'bench',
        instructions: '',
        model: null,
        project: null,
        createdAt: 0,
        budget: { dailyUsd: 10, monthlyUsd: 200 },
      },
      model: 'bench/none',
      startId: 'start_bench',
      tokens: { door: randomToken(), program: randomToken() },
      endpoint: {
        host: ground.network.gateway,
        port: meshPort,
        proxyPort: meshPort + 1,
        publicKeyBase64url: ground.identity.publicKeyBase64url,
      },
      link: null,
      briefingDirectory: ground.briefingDirectory,
      dataLimitBytes: 5 * 1024 ** 3,
      loopLimits: {},
      programs: { environment: {}, files: {}, mark: '' },
      packages: { mark: '', id: null },
      size: agentSize(kind),
      placed: { rung: 'container', wish: { wanted: 'container', floor: 'container' }, fallback: null },
    }),
  })
  const agentOptions = (agentId: string, kind: AgentKind) => {
    const spec = specOf(agentId, kind)
    return containerOptions(ground, atStartShare(spec, startShareOf(spec.cpu)))
  }
  const other =
    (program: { source: string; path: string; command: (agent: readonly string[]) => readonly string[] }) =>
    (agentId: string, kind: AgentKind): Dockerode.ContainerCreateOptions => {
      const options = agentOptions(agentId, kind)
      return {
        ...options,
        Cmd: [...program.command(options.Cmd ?? [])],
        HostConfig: {
          ...options.HostConfig,
          Mounts: [
            ...(options.HostConfig?.Mounts ?? []),
            { Type: 'bind', Source: program.source, Target: program.path, ReadOnly: true },
          ],
        },
      }
    }
  const { staticServer } = ground
  return {
    static: {
      name: 'static',
      label: `${staticServer.label} (floor)`,
      options: other({
        source: staticServer.binary,
        path: staticPath,
        command: () => staticServer.command(staticPath),
      }),
      lay: async () => '',
    },
    bare: {
      name: 'bare',
      label: 'bare node:http',
      options: other({
        source: join(import.meta.dirname, 'bare-server.cjs'),
        path: barePath,
        command: (agent) => [...agent.slice(0, -1), barePath],
      }),
      lay: async () => '',
    },
    agent: {
      name: 'agent',
      label: 'Flotilla agent',
      options: agentOptions,
      lay: async () => {
        const token = randomToken()
        await writeFileAtomically(join(ground.briefingDirectory, 'door-token'), token, 0o644)
        return token
      },
    },
  }
}
