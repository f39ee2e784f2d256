import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { chromium } from 'playwright-core'
import { builtProgram } from '@flotilla/protocol/built-program'
import { findChromium, installChromium } from './chromium.ts'
import { rebound } from './rebinding.ts'

/** The environment variable with the address of the one Chromium of all files; empty if none is installed. */
export const browserVariable = 'FLOTILLA_TEST_BROWSER'

/**
 * Builds the dashboard from the present sources and starts the distribution's Chromium. It is started once: every
 * file has contexts of its own, which share nothing. Returns a function that ends it.
 */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  const root = join(import.meta.dirname, '..', '..')
  if (builtProgram(fs, root, 'dashboard') === null) {
    spawnSync(process.execPath, [join(root, 'scripts', 'build-programs.ts')], { stdio: 'inherit' })
  }
  const found = findChromium() ?? installChromium()
  if (found !== null) {
    // Chromium's sandbox does not work for root, and the tests open only pages of this repository.
    const args = ['--no-sandbox', '--disable-dev-shm-usage', ...rebound]
    const server = await chromium.launchServer({ executablePath: found, args, host: '127.0.0.1' })
    process.env[browserVariable] = server.wsEndpoint()
    return () => server.close()
  }
  process.env[browserVariable] = ''
  const reason = 'No Chromium was found and none could be installed (apt-get install -y chromium)'
  if (process.env['FLOTILLA_REQUIRE_ENGINE'] === '1') throw new Error(`${reason}.`)
  process.stderr.write(`${reason}, so the tests in a browser are skipped.\n`)
  return undefined
}
