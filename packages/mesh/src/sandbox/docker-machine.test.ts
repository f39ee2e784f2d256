import { createServer } from 'node:net'
import process from 'node:process'
import { describe, expect, it } from 'vitest'
import {
  engineOfThisMachine,
  openDockerHome,
  useDockerHome,
  withEngine,
} from '../../../../tests/docker/sandbox-lane.ts'
import { tryEscapes } from '../../../../tests/support/escape-attempts.ts'
import { patient } from '../../../../tests/support/patience.ts'
import { sandboxName } from './sandbox-spec.ts'
import { sandboxRuntimeConformance, subjectHands } from './sandbox-runtime.conformance.ts'

const isSoak = process.env['FLOTILLA_SOAK'] === '1'
const found = await engineOfThisMachine()
const doorPort = 8420
/** The image takes minutes where nobody has made it yet, and software takes its time over each machine. */
const slowMs = patient(900_000)

withEngine(
  'in machines of their own the runtime keeps its port',
  (engine) =>
    // The same adapter keeps it without machines in each run; thirty kernels that software boots take minutes of a processor.
    describe.runIf(isSoak)('in the soak tests', { timeout: slowMs }, () => {
      sandboxRuntimeConformance(
        'docker with machines',
        async () => {
          const home = await openDockerHome(engine)
          const { runtime, again, shareOf, close } = home
          return { runtime, again, shareOf, ...subjectHands, close }
        },
        { isolation: 'microvm' },
      )
    }),
  found,
)

withEngine(
  'an agent in a machine of its own',
  (engine) => {
    const home = useDockerHome(engine)
    const cpu = { quotaUs: 100_000, periodUs: 100_000 }
    const start = (agentId: string) => home().start({ agentId, isolation: 'microvm', cpu })
    const containerOf = (agentId: string) => engine.docker.getContainer(sandboxName(home().homeId, agentId))

    it.runIf(isSoak)('can be had here, which one that is started shows', { timeout: slowMs }, async () => {
      const { available, detail } = await home().runtime.tryRung('microvm')
      expect({ available, detail }).toEqual({
        available: true,
        detail: expect.stringMatching(/^QEMU /) as string,
      })
    })

    it.runIf(isSoak)('has every wall of a container, tried from inside', { timeout: slowMs }, async () => {
      const door = createServer((socket) => socket.on('error', () => {}).end('door\n'))
      await new Promise<void>((resolve) => door.listen(doorPort, home().runtime.doorHost(), resolve))
      const walls = await home().runtime.checkIsolation({ doorPort, rung: 'microvm' })
      await new Promise((resolve) => door.close(resolve))
      expect(walls.filter(({ holds }) => !holds)).toEqual([])
      expect(walls.length).toBeGreaterThan(10)
    })

    it.runIf(isSoak)('lets nothing through that a container refuses', { timeout: slowMs }, async () => {
      const inside = await tryEscapes(await start('escaper'))
      process.stderr.write(
        `${inside.map(({ attempt, outcome }) => `| ${attempt} | ${outcome} |`).join('\n')}\n`,
      )
      expect(inside.filter(({ held }) => !held).map(({ attempt }) => attempt)).toEqual([
        'read environment of the first process',
      ])
    })

    it.runIf(isSoak)('has what its limits say, and nothing else of QEMU', { timeout: slowMs }, async () => {
      const state = await start('limited')
      const seen = await home().run(
        state,
        'ulimit -n; ulimit -c; df -k /tmp /data | tail -n +2 | awk "{print \\$2}"; ls /sys/bus/virtio/devices | wc -l; ls /dev; cat /proc/net/route | wc -l',
      )
      process.stderr.write(seen.text)
      expect(seen.code).toBe(0)
      const { HostConfig } = await containerOf('limited').inspect()
      expect(HostConfig).toMatchObject({
        ReadonlyRootfs: true,
        Privileged: false,
        IpcMode: 'none',
        CapDrop: ['ALL'],
      })
      expect(HostConfig.Devices ?? []).toHaveLength(0)
    })

    it.runIf(isSoak)('ends for want of memory, and is named as that', { timeout: slowMs }, async () => {
      const state = await start('eater')
      const ends: unknown[] = []
      const leave = home().runtime.onEnd((end) => ends.push(end))
      // A program that is ended alone is no end of the agent.
      const eaten = await home().run(state, `python3 -c "b=[bytearray(10**7) for _ in range(60)]"`)
      expect(eaten.code).toBe(137)
      expect(ends).toEqual([])
      await subjectHands.eatMemory(state)
      await expect.poll(() => ends, { timeout: patient(120_000) }).toHaveLength(1)
      leave()
      expect(ends).toEqual([{ agentId: 'eater', code: 137, outOfMemory: true }])
    })

    it.runIf(isSoak)(
      'whose QEMU is killed is told as ended, and starts again with its data',
      { timeout: slowMs },
      async () => {
        const state = await start('killed')
        await subjectHands.writeFile(state, 'kept', 'yes')
        expect((await home().run(state, 'sync')).code).toBe(0)
        const ends: unknown[] = []
        const leave = home().runtime.onEnd((end) => ends.push(end))
        process.kill(await processIn('killed', 'qemu-system-x86_64'), 'SIGKILL')
        await expect.poll(() => ends, { timeout: patient(60_000) }).toHaveLength(1)
        leave()
        expect(ends).toEqual([{ agentId: 'killed', code: 137, outOfMemory: false }])
        expect(await subjectHands.readFile(await start('killed'), 'kept')).toBe('yes')
      },
    )

    it.runIf(isSoak)(
      'comes from a container and goes back to one with its data',
      { timeout: slowMs },
      async () => {
        const before = await home().start({ agentId: 'mover', cpu })
        await subjectHands.writeFile(before, 'kept', 'yes')
        expect(await subjectHands.readFile(await start('mover'), 'kept')).toBe('yes')
        const larger = await home().start({
          agentId: 'mover',
          isolation: 'microvm',
          cpu,
          dataLimitBytes: 128 * 2 ** 20,
        })
        const blocks = Number((await home().run(larger, 'df -k /data | tail -n 1 | awk "{print \\$2}"')).text)
        expect(blocks).toBeGreaterThan(100_000)
        expect(await subjectHands.readFile(await home().start({ agentId: 'mover', cpu }), 'kept')).toBe('yes')
      },
    )

    /** On this machine. */
    async function processIn(agentId: string, program: string): Promise<number> {
      const { Titles, Processes } = await containerOf(agentId).top()
      const at = (title: string) => Titles.indexOf(title)
      const row = Processes.find((one: readonly string[]) => one[at('CMD')]?.startsWith(program))
      if (!row) throw new Error(`${agentId} has no ${program}: ${JSON.stringify(Processes)}`)
      return Number(row[at('PID')])
    }
  },
  found,
)
