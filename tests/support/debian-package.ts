import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Returns the folder of the distribution's `programs`: /usr/bin or /usr/sbin if they are installed, else a folder
 * below `folder` into which the package was unpacked. Null if the package cannot be downloaded.
 */
export async function debianPrograms(
  folder: string,
  packageNames: readonly string[],
  program: string,
): Promise<string | null> {
  const installed = ['/usr/bin', '/usr/sbin'].find((place) => existsSync(join(place, program)))
  if (installed !== undefined) return installed
  const fetch = () => run('apt-get', ['download', ...packageNames], { cwd: folder })
  try {
    await fetch().catch(async () => {
      await run('apt-get', ['update'])
      await fetch()
    })
    for (const name of (await readdir(folder)).filter((each) => each.endsWith('.deb'))) {
      await run('dpkg-deb', ['--extract', join(folder, name), folder])
    }
    const places = ['usr/bin', 'usr/sbin', 'bin'].map((place) => join(folder, place))
    return places.find((place) => existsSync(join(place, program))) ?? null
  } catch {
    return null
  }
}
