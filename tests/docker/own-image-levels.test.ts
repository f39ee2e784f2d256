import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { cachesFolder } from '@flotilla/protocol/compiled-modules'
import { expect, it } from 'vitest'
import { useBuiltImages } from './built-images.ts'
import { baseImageOf, engineOfThisMachine, useDockerHome, withEngine } from './sandbox-lane.ts'
import { patient } from '../support/patience.ts'

const found = await engineOfThisMachine()
/** An engine that the mesh started on this machine gets gVisor registered; any other is asked whether it knows it. */
const options = {
  stateDirectory: join(cachesFolder(process.env['XDG_CACHE_HOME'], homedir()), 'flotilla', 'engine'),
  noInstall: process.env['FLOTILLA_NO_INSTALL'] === '1',
}
/** The image of virtual machines takes minutes to build, and their kernels too without hardware virtualization. */
const levels = process.env['FLOTILLA_SOAK'] === '1' ? (['gvisor', 'microvm'] as const) : (['gvisor'] as const)

withEngine(
  'images of the owner at other isolation levels',
  (engine) => {
    const home = useDockerHome(engine, options)
    const { build } = useBuiltImages(engine)

    it.each(levels)(
      'an agent at the isolation level %s runs from it, with all walls',
      { timeout: patient(900_000) },
      async (isolation) => {
        const { runtime } = home()
        const { available, detail } = await runtime.tryRung(isolation)
        expect(available, detail).toBe(true)
        const { reference } = await build(
          [`FROM ${await baseImageOf(engine)}`, 'COPY tool /usr/bin/own-tool'],
          { tool: '#!/bin/sh\necho from the owner\n' },
        )
        const image = await runtime.ownImages!.ensure(reference, { progress: () => {} })
        const cpu = { quotaUs: 100_000, periodUs: 100_000 }
        const own = await home().start({ agentId: `own-${isolation}`, image, isolation, cpu })
        const shared = await home().start({ agentId: `shared-${isolation}`, image, cpu })
        const run = async (state: typeof own, command: string) =>
          (await home().run(state, command)).text.trim()
        expect(await run(own, 'own-tool; id -un; touch /usr/written 2>&1')).toMatch(
          /^from the owner\nagent\ntouch: .*(?:Read-only|Permission denied)/,
        )
        const kernel = 'cat /proc/version'
        expect(await run(own, kernel)).not.toBe(await run(shared, kernel))
      },
    )
  },
  found,
)
