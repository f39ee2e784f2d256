import { expect, it } from 'vitest'
import { sharedFindings } from '../../packages/operations/src/diagnostics/doctor/shared-findings.ts'
import { inspectShared } from '../../packages/fleet/src/sandbox/docker/inspect-shared.ts'
import { engineOfThisMachine, useDockerHome, withEngine } from './sandbox-lane.ts'
import { patient } from '../support/patience.ts'

const found = await engineOfThisMachine()

/**
 * A program that takes as many inotify instances and full-sized pipes as it can, prints how many, and holds them
 * until it ends.
 */
const takeProgram = String.raw`
import ctypes, fcntl, json, os, time
libc, watchers, pipes = ctypes.CDLL(None), 0, []
while libc.inotify_init1(0) >= 0: watchers += 1
try:
    while len(pipes) < 2000: pipes.append(os.pipe())
except OSError: pass
full = sum(fcntl.fcntl(w, 1032) >= 65536 for r, w in pipes)
print(json.dumps({'watchers': watchers, 'pipes': len(pipes), 'full': full}), flush=True)
time.sleep(600)
`
/**
 * A program that takes one of each, moves a megabyte through a pipe, and writes more than a small pipe holds at
 * once.
 */
const useProgram = String.raw`
import ctypes, json, os, subprocess
got = ctypes.CDLL(None).inotify_init1(0) >= 0
moved = len(subprocess.run(['sh', '-c', 'head -c 1000000 /dev/zero | cat'], stdout=subprocess.PIPE).stdout)
ends = [os.pipe() for _ in range(200)]
print(json.dumps({'watches': got, 'moved': moved, 'pipes': len(ends)}))
`

withEngine(
  'what agents share',
  (engine) => {
    const home = useDockerHome(engine)

    it('an agent that exhausts watches and pipes affects only the watches of other agents, which doctor reports', async () => {
      const greedy = await home().start({ agentId: 'greedy' })
      const other = await home().start({ agentId: 'other' })
      const use = async () => {
        const seen = await home().run(other, `python3 - <<'END'\n${useProgram}\nEND`)
        return JSON.parse(/\{.*\}/.exec(seen.text)?.[0] ?? 'null') as Record<string, unknown>
      }
      expect(await use()).toEqual({ watches: true, moved: 1_000_000, pipes: 200 })

      await home().run(
        greedy,
        `cat > take.py <<'END'\n${takeProgram}\nEND\n(setsid python3 take.py > taken 2>&1 &) ; true`,
      )
      const taken = await expect
        .poll(async () => (await home().run(greedy, 'cat taken')).text, { timeout: patient(60_000) })
        .toContain('"full"')
        .then(async () => JSON.parse((await home().run(greedy, 'cat taken')).text) as Record<string, number>)
      expect(taken['pipes']).toBeGreaterThanOrEqual(1000)
      const facts = await inspectShared({ uid: process.getuid?.() ?? 0 }, process.getuid?.() ?? 0)
      const [watchers] = sharedFindings(facts)
      // The kernel counts by user id, and Docker gives all containers the same user ids, so this cannot be
      // prevented here.
      if (engine.facts.flavour === 'docker') {
        expect(taken['watchers']).toBeLessThanOrEqual(facts.watchers ?? 0)
        expect(watchers?.detail).toContain(`${facts.watchers} inotify instances`)
        expect(await use()).toEqual({ watches: false, moved: 1_000_000, pipes: 200 })
      }

      await home().runtime.stop('greedy', { graceMs: 0 })
      await expect
        .poll(use, { timeout: patient(30_000) })
        .toEqual({ watches: true, moved: 1_000_000, pipes: 200 })
    })
  },
  found,
)
