import { createServer } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { cachesFolder } from '@flotilla/protocol/compiled-modules'
import { describe, expect, it } from 'vitest'
import {
  engineOfThisMachine,
  openDockerHome,
  useDockerHome,
  withEngine,
} from '../../../../../tests/docker/sandbox-lane.ts'
import { tryEscapes } from '../../../../../tests/support/escape-attempts.ts'
import { sandboxRuntimeConformance, subjectHands } from '../sandbox-runtime.conformance.ts'

/**
 * An engine that the mesh started on this machine gets gVisor registered; any other is asked whether it
 * knows it.
 */
const options = {
  stateDirectory: join(cachesFolder(process.env['XDG_CACHE_HOME'], homedir()), 'flotilla', 'engine'),
  noInstall: process.env['FLOTILLA_NO_INSTALL'] === '1',
}

const isSoak = process.env['FLOTILLA_SOAK'] === '1'

/**
 * Runs once, before the suites are collected, so that suites without gVisor are reported as skipped by name.
 */
async function engineWithGvisor() {
  const found = await engineOfThisMachine()
  if (found.engine === null) return found
  const home = await openDockerHome(found.engine, options)
  const { available, detail } = await home.runtime.tryRung('gvisor')
  await home.close()
  return available ? found : { engine: null, tried: [`gVisor: ${detail}`] }
}

const found = await engineWithGvisor()
const meshPort = 8420

withEngine(
  'behind gVisor the runtime keeps its port',
  (engine) =>
    // Each run tests the same adapter without gVisor; thirty more kernel starts would take a hundred seconds of
    // processor time.
    describe.runIf(isSoak)('in the soak tests', () => {
      sandboxRuntimeConformance(
        'docker behind gVisor',
        async () => {
          const home = await openDockerHome(engine, options)
          const { runtime, again, shareOf, close } = home
          return { runtime, again, shareOf, ...subjectHands, close }
        },
        { isolation: 'gvisor' },
      )
    }),
  found,
)

withEngine(
  'an agent behind gVisor',
  (engine) => {
    const home = useDockerHome(engine, options)
    const cpu = { quotaUs: 100_000, periodUs: 100_000 }
    const start = (agentId: string) => home().start({ agentId, isolation: 'gvisor', cpu })

    it('an agent behind gVisor has every wall of a container, tried from inside', async () => {
      const listener = createServer((socket) => socket.on('error', () => {}).end('listener\n'))
      await new Promise<void>((resolve) => listener.listen(meshPort, home().runtime.listenHost(), resolve))
      const walls = await home().runtime.checkIsolation({ meshPort, rung: 'gvisor' })
      await new Promise((resolve) => listener.close(resolve))
      expect(walls.filter(({ holds }) => !holds)).toEqual([])
      expect(walls.length).toBeGreaterThan(10)
    })

    it('an agent behind gVisor is answered by another kernel, which lets nothing through that a container refuses', async () => {
      const own = await start('escaper')
      const shared = await home().start({ agentId: 'neighbor', cpu })
      const kernel = async (state: typeof own) => (await home().run(state, 'cat /proc/version')).text
      expect(await kernel(own)).not.toBe(await kernel(shared))
      const [inside, beside] = [await tryEscapes(own), await tryEscapes(shared)]
      process.stderr.write(
        `${inside.map(({ attempt, outcome }, at) => `| ${attempt} | ${beside[at]?.outcome} | ${outcome} |`).join('\n')}\n`,
      )
      const through = (outcomes: typeof inside) =>
        outcomes.filter(({ held }) => !held).map(({ attempt }) => attempt)
      // The environment at the start contains no key and no agent token; programs of the agent get the same
      // values.
      const known = ['read environment of the agent', 'read environment of the first process']
      expect(through(beside)).toEqual(known.slice(1))
      expect(through(inside)).toEqual(known)
    })

    it('an agent behind gVisor ends for want of memory, and is named as that', async () => {
      const state = await start('eater')
      const ends: unknown[] = []
      const leave = home().runtime.onEnd((end) => ends.push(end))
      await subjectHands.eatMemory(state)
      await expect.poll(() => ends, { timeout: 60_000 }).toHaveLength(1)
      leave()
      expect(ends).toEqual([expect.objectContaining({ agentId: 'eater', outOfMemory: true })])
    })

    it('a microVM whose kernel is killed is reported as ended, and starts again with its data', async () => {
      const state = await start('killed')
      await subjectHands.writeFile(state, 'kept', 'yes')
      const ends: unknown[] = []
      const leave = home().runtime.onEnd((end) => ends.push(end))
      const { State } = await engine.docker
        .getContainer((await listed(engine, home().homeTag, 'killed')).Id)
        .inspect()
      process.kill(State.Pid, 'SIGKILL')
      await expect.poll(() => ends, { timeout: 30_000 }).toHaveLength(1)
      leave()
      expect(ends).toEqual([expect.objectContaining({ agentId: 'killed', outOfMemory: false })])
      expect(await subjectHands.readFile(await start('killed'), 'kept')).toBe('yes')
    })
  },
  found,
)

async function listed(
  { docker }: NonNullable<(typeof found)['engine']>,
  homeTag: string,
  agentId: string,
): Promise<{ readonly Id: string }> {
  const label = [`flotilla.home=${homeTag}`, `flotilla.agent=${agentId}`]
  const [container] = await docker.listContainers({ filters: { label } })
  if (!container) throw new Error(`${agentId} has no container`)
  return container
}
