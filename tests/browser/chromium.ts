import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import process from 'node:process'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Path of an installed Chromium or Chrome; null if none is installed. */
export function findChromium(): string | null {
  return places.find((path) => existsSync(path)) ?? null
}

/**
 * Installs the distribution's Chromium. Returns null if this process may not install packages or none is available.
 */
export function installChromium(): string | null {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return null
  if (process.env['FLOTILLA_NO_INSTALL'] === '1') {
    process.stderr.write('Tests in a browser want: apt-get install -y --no-install-recommends chromium\n')
    return null
  }
  process.stderr.write('Installing chromium of the distribution for the tests in a browser ...\n')
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const install = () =>
    spawnSync('apt-get', ['install', '-y', '--no-install-recommends', 'chromium'], {
      env: environment,
      stdio: 'ignore',
    }).status === 0
  // On a new machine, apt has no package lists until the first update.
  if (!install()) {
    spawnSync('apt-get', ['update'], { env: environment, stdio: 'ignore' })
    install()
  }
  return findChromium()
}
