import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, test } from 'vitest'
import { homeInUnit, systemdUnit } from './systemd-unit.ts'

const place = {
  node: process.execPath,
  mesh: '/opt/flot illa/main.mjs',
  pace: ['/opt/flot illa/cli.mjs', 'pace-restarts'],
  home: '/srv/50%/$HOME "x"',
  path: '/usr/bin:/bin',
  system: true,
}
const analyze = ['/usr/bin/systemd-analyze', '/bin/systemd-analyze'].find((path) => existsSync(path))

describe('the unit of the mesh', () => {
  test('the unit of the mesh names its program and its home as they are, whatever is in them', () => {
    const unit = systemdUnit(place)
    expect(unit).toContain('"/opt/flot illa/main.mjs" "serve" "--home" "/srv/50%%/$$HOME \\"x\\""')
    expect(unit).toContain(`ExecStartPre=-"${process.execPath}" "/opt/flot illa/cli.mjs" "pace-restarts"`)
    expect(unit).toContain('NoNewPrivileges=yes')
    expect(unit).toContain('RequiresMountsFor="/srv/50%%/$HOME \\"x\\""')
    expect(homeInUnit(unit)).toBe(place.home)
    expect(homeInUnit('[Service]\nExecStart=/bin/true\n')).toBeNull()
  })

  test('the unit of one user requests nothing that only the system manager can grant', () => {
    expect(systemdUnit({ ...place, system: false })).not.toMatch(/ProtectSystem|docker\.service/)
  })

  it.skipIf(analyze === undefined)('the unit of the mesh is one that systemd understands whole', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'flotilla-unit-'))
    const path = join(folder, 'flotilla.service')
    writeFileSync(path, systemdUnit(place))
    const done = await promisify(execFile)(analyze ?? '', ['verify', '--man=no', path]).then(
      ({ stderr }) => stderr,
      (error: { readonly stderr?: string; readonly message: string }) => error.stderr ?? error.message,
    )
    rmSync(folder, { recursive: true, force: true })
    // Warnings about other units of this machine are ignored.
    expect(done.split('\n').filter((line) => line.includes('flotilla.service'))).toEqual([])
  })
})
