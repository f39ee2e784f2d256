import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { npmArchive } from '../../packages/fleet/src/sandbox/image/node-parts.ts'
import { cleanDebianImage, startCleanDebian } from '../support/clean-debian.ts'
import type { CleanDebian } from '../support/clean-debian.ts'
import { repositoryRoot } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { imageCaches } from './image-caches.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

/**
 * Packing, creating a machine and installing take minutes, so this runs with the long proofs of `npm run
 * test:soak`.
 */
const soak = process.env['FLOTILLA_SOAK'] === '1'
/** Highest ratio of the time for help to that of bare Node: 0.3 s on a machine on which bare Node takes 0.08 s. */
const helpToNodeMax = 3.75
const found = await engineOfThisMachine()
const run = promisify(execFile)
const longMs = patient(900_000)

withEngine(
  'the package on a machine that never saw us',
  (engine) => {
    describe.runIf(soak)('made by npm pack', () => {
      let folder: string
      let packed: string
      let image: string | null
      const machines: CleanDebian[] = []

      beforeAll(async () => {
        folder = await mkdtemp(join(tmpdir(), 'flotilla-installed-'))
        image = await cleanDebianImage(engine)
        if (image === null) return
        await run('npm', ['pack', '--pack-destination', folder], { cwd: repositoryRoot, maxBuffer: 2 ** 24 })
        packed = join(folder, 'flotilla.tgz')
        await rename(join(folder, `flotilla-${await versionHere()}.tgz`), packed)
      }, longMs)
      afterAll(async () => {
        for (const machine of machines) await machine.remove()
        await rm(folder, { recursive: true, force: true })
      }, longMs)

      /** Starts a machine on which npm installed the package, and then removes npm and Node. */
      async function installed(options: { readonly manager: boolean }): Promise<CleanDebian> {
        if (image === null) throw new Error('no image of this distribution can be made here')
        const machine = await startCleanDebian(engine, image, options)
        machines.push(machine)
        expect((await machine.run('command -v node npm')).code).not.toBe(0)
        const npm = join(folder, 'npm.tgz')
        await cp(await npmArchive({ cacheDirectory: imageCaches, progress: () => undefined }), npm)
        await machine.put(packed)
        await machine.put(npm)
        const node = 'node_modules/node-linux-$(uname -m | sed s/x86_64/x64/\\;s/aarch64/arm64/)/bin/node'
        const ended = await machine.run(
          `cd /root && mkdir bring && tar -xzf npm.tgz -C bring && tar -xzf flotilla.tgz -C bring --strip-components=1 "package/${node}" &&
           "bring/${node}" bring/package/bin/npm-cli.js install --global --offline --prefix /usr/local --cache /tmp/npm ./flotilla.tgz &&
           mv bring/package /tmp/npm-itself && rm -rf bring npm.tgz`,
        )
        expect(ended.code, ended.out + ended.err).toBe(0)
        return machine
      }

      it(
        'the package installs without Node, says what a smaller machine lacks, helps at once, works, and leaves nothing',
        async () => {
          const machine = await installed({ manager: false })
          const before = await machine.run(`find ${places} | sort`)
          const said = async (line: string) => {
            const ended = await machine.run(line)
            expect(ended.code, `${line}: ${ended.err}`).toBe(0)
            return ended.out
          }
          expect(await said('flotilla --version')).toContain(`Flotilla ${await versionHere()}`)
          await said('test -e /usr/local/share/man/man1/flotilla.1')

          await said('mkdir /tmp/away && mv /usr/lib/*/libatomic.so.1* /tmp/away')
          const without = await machine.run('flotilla --version')
          expect([without.code, without.err]).toEqual([
            1,
            expect.stringContaining('apt-get install libatomic1'),
          ])
          await said('mv /tmp/away/* "/usr/lib/$(uname -m)-linux-gnu/"')

          for (const [command, ratio] of await helpRatios(machine)) {
            process.stderr.write(`${command}: ${ratio.toFixed(2)} x bare Node\n`)
            expect(ratio, command).toBeLessThan(helpToNodeMax)
          }

          const started = JSON.parse(await said('flotilla start -d --runtime process --json')) as object
          expect(started).toMatchObject({ url: 'http://127.0.0.1:8420' })
          await said('flotilla agent add clerk --role "Keeps lists."')
          expect(await said('flotilla agents')).toContain('clerk')
          expect(await said('flotilla prune --dry-run')).toContain('There are no leftovers')
          await said('flotilla backup /tmp/fleet --without-secrets && flotilla verify /tmp/fleet')
          await said('flotilla uninstall --yes')
          const known = new Set(before.out.split('\n'))
          const left = (await machine.run(`find ${places} | sort`)).out.split('\n')
          // The cache folder of all programs, which contains no file of Flotilla.
          expect(left.filter((path) => !known.has(path) && path !== '/root/.cache')).toEqual([])

          const npm =
            'node=$(ls /usr/local/lib/node_modules/flotilla/node_modules/*/bin/node); cp $node /tmp/node'
          await said(
            `${npm}; /tmp/node /tmp/npm-itself/bin/npm-cli.js rm --global --prefix /usr/local flotilla`,
          )
          expect(await said('find /usr/local -iname "*flotilla*"')).toBe('')
        },
        longMs,
      )

      it(
        'the package is kept by systemd, upgraded by it, and put back where a release does not come up',
        async () => {
          const machine = await installed({ manager: true })
          const said = async (line: string) => {
            const ended = await machine.run(line)
            expect(ended.code, `${line}: ${ended.err}`).toBe(0)
            return ended.out
          }
          await said('mkdir -m 700 /root/.flotilla && echo FLOTILLA_RUNTIME=process > /root/.flotilla/.env')
          await said('flotilla service install --print > /tmp/flotilla.service')
          // This machine has no manual pages.
          expect(await said('systemd-analyze verify --man=no /tmp/flotilla.service 2>&1')).toBe('')
          await said('flotilla service install')
          const until = (test: string) =>
            said(`for i in $(seq 600); do ${test} && exit 0; sleep 0.2; done; exit 1`)
          await until('flotilla status >/dev/null 2>&1')
          const pidOf = async () => (await said('systemctl show -P MainPID flotilla')).trim()
          const first = await pidOf()

          // The service manager restarts it.
          await said(`kill -9 ${first}`)
          await until(
            `[ "$(systemctl show -P MainPID flotilla)" != "${first}" ] && flotilla status >/dev/null 2>&1`,
          )

          // While systemd waits before a restart, status says so, and a start in the background is handed to it.
          const dropIn = '/etc/systemd/system/flotilla.service.d'
          await said(`mkdir ${dropIn} && printf '[Service]\\nRestartSec=600\\n' > ${dropIn}/slow.conf`)
          await said(`systemctl daemon-reload && kill -9 ${await pidOf()}`)
          await until('[ "$(systemctl show -P SubState flotilla)" = auto-restart ]')
          const waiting = await machine.run('flotilla status')
          expect([waiting.code, waiting.err]).toEqual([
            3,
            expect.stringContaining('activating, auto-restart'),
          ])
          expect((await machine.run('flotilla start')).err).toContain('systemd keeps the mesh')
          const optioned = await machine.run('flotilla start -d --port 8500')
          expect(optioned.err).toContain('code kept-by-systemd')
          const handed = JSON.parse(await said('flotilla start -d --json'))
          expect(`${handed.pid}`).toBe(await pidOf())
          expect(await said('flotilla status')).toContain('Supervisor: systemd')
          expect((await machine.run('flotilla start -d')).err).toContain('already runs')
          await said(`rm -r ${dropIn} && systemctl daemon-reload`)

          await machine.put(await anotherRelease('99.0.0', ''))
          const upgraded = JSON.parse(
            await said('cd /root && flotilla upgrade --from release-99.0.0.tgz --yes --json'),
          )
          expect(upgraded).toMatchObject({ to: '99.0.0', restarted: true })
          expect(await said('flotilla version')).toContain('Flotilla 99.0.0')
          const second = await pidOf()
          expect(await said('flotilla status')).toContain(`process ${second},`)

          const fault =
            'console.log(JSON.stringify({ problem: { code: "x", detail: "broken on purpose" } })); process.exit(1)'
          await machine.put(await anotherRelease('99.1.0', fault))
          const failed = await machine.run('cd /root && flotilla upgrade --from release-99.1.0.tgz --yes')
          expect(failed.code).toBe(1)
          expect(failed.err).toContain(
            '99.1.0 did not start: systemd could not start the mesh: broken on purpose',
          )
          expect(failed.err).toContain('The fleet runs with 99.0.0 again')
          expect(await said('flotilla version')).toContain('Flotilla 99.0.0')
          expect(await said('flotilla status')).toContain('Ready')
          expect((await said('ls -A /usr/local/lib/node_modules')).trim()).toBe('flotilla')

          // A release that first changes the database, so that the older release would refuse it.
          const later = [
            `const path = process.argv[process.argv.indexOf('--home') + 1] + '/data/mesh.db'`,
            `const database = new (process.getBuiltinModule('node:sqlite').DatabaseSync)(path)`,
            "database.exec(`VACUUM INTO '${path}.before-99990101000000'`)",
            `database.exec("INSERT INTO schema_steps VALUES (99990101000000, 'later', 'x')")`,
            fault,
          ]
          await machine.put(await anotherRelease('99.2.0', later.join('; ')))
          const changed = await machine.run('cd /root && flotilla upgrade --from release-99.2.0.tgz --yes')
          expect(changed.code).toBe(1)
          expect(changed.err).toContain('The fleet runs with 99.0.0 again, with its previous database.')
          expect(await said('flotilla status')).toContain('Ready')
          expect(await said('ls /root/.flotilla/data')).not.toContain('before-9999')

          const older = await machine.run('flotilla upgrade --from /root/flotilla.tgz --yes')
          expect(older.err).toContain('code package-older')
          const wrong = await machine.run(
            `flotilla upgrade --from /root/flotilla.tgz --sha256 ${'0'.repeat(64)} --yes`,
          )
          expect(wrong.err).toContain('code package-unsound')

          await said('flotilla uninstall --yes')
          expect((await machine.run('systemctl cat flotilla')).code).not.toBe(0)
          expect((await machine.run('test -e /root/.flotilla')).code).not.toBe(0)
        },
        longMs,
      )

      /**
       * Packs the same package with another version; `fault` is the code that its mesh runs when it should serve.
       */
      async function anotherRelease(version: string, fault: string): Promise<string> {
        const place = join(folder, version)
        await mkdir(place)
        await run('tar', ['-xzf', packed, '-C', place])
        const manifest = join(place, 'package', 'package.json')
        const text = await readFile(manifest, 'utf8')
        await writeFile(manifest, text.replace(/"version": "[^"]+"/, `"version": "${version}"`))
        if (fault !== '') {
          const mesh = join(place, 'package/dist/package/mesh/main.mjs')
          const source = await readFile(mesh, 'utf8')
          const faulty = `\nif (process.argv.includes('serve')) { ${fault} }\n`
          await writeFile(mesh, source.replace(/\n/, faulty))
        }
        const file = join(folder, `release-${version}.tgz`)
        await run('tar', ['--use-compress-program=gzip -1', '-cf', file, '-C', place, 'package'])
        await rm(place, { recursive: true })
        return file
      }
    })
  },
  found,
)

/** Folders in which a file of Flotilla could remain. */
const places = '/root /etc /usr /var /opt /home -not -path "*/npm*"'

async function versionHere(): Promise<string> {
  const text = await readFile(join(repositoryRoot, 'package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

/** Returns CPU time of `--help` for each command, divided by that of an idle Node: medians of nine rounds. */
async function helpRatios(machine: CleanDebian): Promise<readonly (readonly [string, number])[]> {
  const node = '$(ls /usr/local/lib/node_modules/flotilla/node_modules/*/bin/node)'
  const asked = [
    `${node} -e 0`,
    ...['', ' init', ' chat', ' permissions', ' cron add'].map((name) => `flotilla${name} --help`),
  ]
  const timed = (line: string) => `time (for i in 1 2 3 4 5; do ${line} >/dev/null; done)`
  const rounds = asked.map((line) => `${timed(line)} 2>&1`).join('; ')
  const { out } = await machine.run(
    `bash -c 'TIMEFORMAT="%3U %3S"; for round in $(seq 9); do ${rounds}; done' 2>&1`,
  )
  const taken = out
    .trim()
    .split('\n')
    .map((row) => row.split(' ').reduce((sum, part) => sum + Number(part), 0))
  const median = (at: number) =>
    taken.filter((_, index) => index % asked.length === at).toSorted((one, other) => one - other)[4] ?? NaN
  return asked.slice(1).map((line, at) => [line, median(at + 1) / median(0)] as const)
}
