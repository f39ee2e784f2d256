import { execFile } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { PassThrough } from 'node:stream'
import { promisify } from 'node:util'
import type Dockerode from 'dockerode'
import { logText } from '../../packages/fleet/src/sandbox/engine/log-text.ts'
import { labelKeys } from '../../packages/fleet/src/sandbox/hardening/container-options.ts'
import { homeTag } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { effectsOfLines } from './ground.ts'
import type { Ground } from './ground.ts'
import { openLedger } from '../support/ledger-view.ts'
import type { Leftover } from './facts.ts'
import { commandsFile } from './steps.ts'
import { workers } from './work-plan.ts'

const run = promisify(execFile)

const logLinesMax = 400

/** Agents in containers of the engine on this machine. */
export function containerGround(
  docker: Dockerode,
  of: { readonly home: string; readonly homeId: string; wake(agent: string): Promise<void> },
): Ground {
  const { home, homeId } = of
  const label = [`${labelKeys.home}=${homeTag(homeId)}`]
  const list = async (all: boolean) => docker.listContainers({ all, filters: { label } })
  const agentOf = (found: Dockerode.ContainerInfo): string | undefined => found.Labels[labelKeys.agent]

  async function inside(id: string, command: readonly string[]): Promise<string> {
    const exec = await docker.getContainer(id).exec({ Cmd: [...command], AttachStdout: true })
    const stream = await exec.start({})
    const out = new PassThrough()
    docker.modem.demuxStream(stream, out, new PassThrough())
    stream.on('end', () => out.end())
    return text(out)
  }

  return {
    kind: 'docker',
    disturbances: [],
    async agents() {
      return (await list(false)).flatMap((found) => agentOf(found) ?? [])
    },
    async agentLog(agent) {
      const found = (await list(true)).find((one) => agentOf(one) === agent)
      if (!found) throw new Error('it has no container')
      const asked = { stdout: true, stderr: true, follow: false, tail: logLinesMax } as const
      return logText(Buffer.from(await docker.getContainer(found.Id).logs(asked)))
    },
    async kill(agent) {
      const found = (await list(false)).find((one) => agentOf(one) === agent)
      if (!found) return false
      return docker
        .getContainer(found.Id)
        .kill()
        .then(
          () => true,
          () => false,
        )
    },
    async commandEffects() {
      const found = []
      for (const agent of workers) {
        await of.wake(agent)
        const container = (await list(false)).find((one) => agentOf(one) === agent)
        if (!container) throw new Error(`${agent} has no container to look into`)
        const output = await inside(container.Id, ['sh', '-c', `cat /data/${commandsFile} 2>/dev/null`])
        found.push(...effectsOfLines(agent, output))
      }
      return found
    },
    async strangers() {
      const ledger = openLedger(home)
      const rows = ledger.rows("SELECT id FROM agents WHERE state IN ('running', 'unhealthy', 'starting')")
      ledger.close()
      const ready = new Set(rows.map((row) => String(row['id'])))
      const live = await list(false)
      const doubled = [...Map.groupBy(live, agentOf)].filter(
        ([agent, all]) => agent !== undefined && all.length > 1,
      )
      return [
        ...live
          .filter((one) => !ready.has(agentOf(one) ?? ''))
          .map((one) => ({
            check: 'orphan' as const,
            what: `${namesOf(one)} runs and no agent is ready there`,
          })),
        ...doubled.map(([agent, all]) => ({
          check: 'two-on-one-folder' as const,
          what: `${agent} has ${all.length} containers: ${all.map(namesOf).join(', ')}`,
        })),
      ]
    },
    async afterStop() {
      return (await list(false)).map((one) => ({
        check: 'after-stop' as const,
        what: `the container ${namesOf(one)} runs after flotilla stop`,
      }))
    },
    async afterReset() {
      const [containers, { Volumes: volumes }, networks, loops] = await Promise.all([
        list(true),
        docker.listVolumes({ filters: { label } }),
        docker.listNetworks({ filters: { label } }),
        loopsOf(home),
      ])
      const found = [
        ...containers.map((one) => `the container ${namesOf(one)}`),
        ...(volumes ?? []).map(({ Name }) => `the volume ${Name}`),
        ...networks.map(({ Name }) => `the network ${Name}`),
        ...loops.map((line) => `the loop device ${line}`),
      ]
      return found.map((what): Leftover => ({ check: 'after-reset', what: `${what} is there after a reset` }))
    },
  }
}

function namesOf(found: Dockerode.ContainerInfo): string {
  return found.Names.join(' ')
}

/** Lists the loop devices whose backing files lie below the home. */
async function loopsOf(home: string): Promise<readonly string[]> {
  const { stdout } = await run('losetup', ['--list', '--noheadings', '--output', 'NAME,BACK-FILE']).catch(
    () => ({
      stdout: '',
    }),
  )
  return stdout.split('\n').filter((line) => line.includes(`${home}/`))
}
