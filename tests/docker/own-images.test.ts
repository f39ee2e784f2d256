import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import * as z from 'zod'
import { followEngine } from '../../packages/fleet/src/sandbox/image/engine-images.ts'
import { tarArchive, tarFile } from '../../packages/fleet/src/sandbox/tar-archive.ts'
import { agentImageEndpoints } from '@flotilla/protocol/agent-image'
import { aCassette, says } from '../support/cassettes.ts'
import { startMeshForTest } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { runInside } from './harness-fleet.ts'
import { useBuiltImages } from './built-images.ts'
import { attackWalls } from './attack-walls.ts'
import { baseImageOf, engineOfThisMachine, useDockerHome, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const progress = (): void => {}
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const listedSchema = z.array(z.looseObject({ Id: z.string() }))

withEngine(
  'images of the owner',
  (engine) => {
    const home = useDockerHome(engine)
    const { docker } = engine
    const { build, newName } = useBuiltImages(engine)
    const debian = () => baseImageOf(engine)
    const ensure = (reference: string) => home().runtime.ownImages!.ensure(reference, { progress })
    const text = async (agentId: string, image: string, command: string) => {
      const state = await home().start({ agentId, image })
      return (await home().run(state, command)).text.trim()
    }

    attackWalls(home, async () => {
      const { reference } = await build([`FROM ${await debian()}`, 'RUN echo three > /three'])
      return ensure(reference)
    })

    it(
      'an agent runs from it behind all walls, and nothing that the image wants to run by itself runs',
      { timeout: 300_000 },
      async () => {
        const { reference } = await build(
          [
            `FROM ${await debian()}`,
            'COPY tool /usr/bin/own-tool',
            'COPY tool /usr/local/bin/node',
            'COPY tool /opt/flotilla/agent.cjs',
            'COPY preload /etc/ld.so.preload',
            'RUN cp /usr/bin/id /usr/bin/raised && chmod 6755 /usr/bin/raised && mkdir /opt/own && mknod /opt/own/disk b 8 0 || true',
            'ENV LD_PRELOAD=/nowhere.so NODE_OPTIONS=--require=/nowhere.cjs GEM_HOME=/opt/own/gems PATH=/opt/own/bin:/usr/bin:/bin BASH_ENV=/nowhere.sh',
            'VOLUME ["/opt/own"]',
            'ONBUILD RUN touch /triggered',
            'HEALTHCHECK --interval=1s --start-period=1s CMD touch /tmp/checked',
            'USER 4242',
            'ENTRYPOINT ["/usr/bin/own-tool"]',
            'CMD ["--wanted"]',
          ],
          { tool: '#!/bin/sh\necho from the owner\n', preload: '/nowhere.so\n' },
        )
        const id = await ensure(reference)
        expect(await ensure(reference)).toBe(id)
        const state = await home().start({ agentId: 'own', image: id })
        const run = async (command: string) => (await home().run(state, command)).text.trim()
        expect(await run('own-tool')).toBe('from the owner')
        expect(await run('id -u; id -un')).toBe('1000\nagent')
        expect(await run('/usr/bin/raised -u')).toBe('1000')
        expect(await run('find / -xdev \\( -perm /6000 -type f -o -type b \\) 2> /dev/null')).toBe('')
        expect(
          await run('echo $GEM_HOME; echo ${LD_PRELOAD:-none} ${NODE_OPTIONS:-none} ${BASH_ENV:-none}'),
        ).toBe('/opt/own/gems\nnone none none')
        expect(await run('echo $PATH')).toMatch(/^\/usr\/local\/sbin:.*:\/opt\/own\/bin$/)
        expect(await run('ls -d /etc/ld.so.preload /triggered /tmp/checked 2> /dev/null')).toBe('')
        expect(await run('touch /opt/own/written 2>&1')).toContain('Read-only')
        expect(await run('grep -c . /proc/self/mounts; grep own /proc/self/mounts')).toMatch(/^\d+$/)
        const { Config, HostConfig, State } = await docker
          .getContainer(
            (
              await docker.listContainers({
                filters: { label: [`flotilla.home=${home().homeTag}`, 'flotilla.agent=own'] },
              })
            )[0]!.Id,
          )
          .inspect()
        expect(Config.Entrypoint ?? []).toEqual([])
        expect([State.Health?.Status ?? 'none', HostConfig.ReadonlyRootfs, HostConfig.CapDrop]).toEqual([
          'none',
          true,
          ['ALL'],
        ])
        const owned = await run(
          'cat /proc/1/environ | tr "\\0" "\\n" | grep -c -E "^(LD_PRELOAD|NODE_OPTIONS)="',
        )
        expect(owned).toBe('0')
      },
    )

    it(
      'an image that was made is used again, also if the engine lost the image of the owner',
      { timeout: 300_000 },
      async () => {
        const { reference, name } = await build([`FROM ${await debian()}`, 'RUN echo one > /one'])
        await ensure(reference)
        await docker.getImage(name).remove({ force: true })
        // The finished image does not need the owner's image any more.
        expect(await text('kept', await ensure(reference), 'cat /one')).toBe('one')
      },
    )

    it('an image with another digest is not used, whatever its name is', { timeout: 120_000 }, async () => {
      const { reference } = await build([`FROM ${await debian()}`, 'RUN echo two > /two'])
      const other = `${reference.slice(0, reference.indexOf('@'))}@sha256:${'0'.repeat(64)}`
      await expect(ensure(other)).rejects.toMatchObject({
        id: 'own-image-missing',
        message: expect.stringMatching(/no image with the digest of .*could not fetch it: .*\nRepair: /s),
      })
    })

    it.each([
      [
        'without a shell',
        (base: string) => [
          `FROM ${base} AS full`,
          'FROM scratch',
          'COPY --from=full /lib /lib',
          'COPY --from=full /lib64 /lib64',
          'COPY --from=full /usr/lib /usr/lib',
        ],
        /cannot run \/bin\/sh/,
      ],
      [
        'without a C library',
        () => ['FROM scratch', 'COPY nothing /nothing'],
        /cannot run the Node of agents/,
      ],
      [
        'with a link to another place of the agent',
        (base: string) => [`FROM ${base}`, 'RUN rm -rf /opt && ln -s /var /opt'],
        /something else in place of the folder \/opt/,
      ],
    ])('an image %s is refused, and nothing of it stays', { timeout: 300_000 }, async (_, lines, reason) => {
      const before = listedSchema.parse(await docker.listImages({ all: true })).length
      const { reference, name } = await build(lines(await debian()), { nothing: '' })
      await expect(ensure(reference)).rejects.toMatchObject({
        id: 'own-image-refused',
        message: expect.stringMatching(reason),
      })
      await docker.getImage(name).remove({ force: true })
      const label = [`flotilla.home=${home().homeTag}`, 'flotilla.role=packages']
      expect(await docker.listContainers({ all: true, filters: { label } })).toEqual([])
      expect(listedSchema.parse(await docker.listImages({ filters: { label } })).length).toBeLessThanOrEqual(
        before,
      )
    })

    it(
      'an aborted build ends at once and leaves nothing, and so does one that waits behind it',
      { timeout: 300_000 },
      async () => {
        const [first, second] = [
          await build([`FROM ${await debian()}`, 'RUN echo four > /four']),
          await build([`FROM ${await debian()}`, 'RUN echo five > /five']),
        ]
        const [making, waiting] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()]
        const stop = new AbortController()
        const made = home().runtime.ownImages!.ensure(first.reference, {
          progress: () => making.resolve(),
          signal: stop.signal,
        })
        made.catch(() => undefined)
        const leave = new AbortController()
        const waits = home().runtime.ownImages!.ensure(second.reference, {
          progress: waiting.resolve,
          signal: leave.signal,
        })
        waits.catch(() => undefined)
        expect(await waiting.promise).toBe(`Waiting for the image ${first.reference}`)
        await making.promise
        leave.abort(new Error('left'))
        await expect(waits).rejects.toThrow('left')
        stop.abort(new Error('stopped'))
        await expect(made).rejects.toThrow('stopped')
        const label = [`flotilla.home=${home().homeTag}`, 'flotilla.role=packages']
        expect(await docker.listContainers({ all: true, filters: { label } })).toEqual([])
      },
    )

    it(
      'a mesh tests it before it is set, and the next run of the agent is in it',
      { timeout: patient(600_000) },
      async () => {
        const mesh = await startMeshForTest({
          runtime: 'docker',
          cassettes: { idle: aCassette({ when: 'nothing', turns: [says('Nothing.')] }) },
        })
        await mesh.createWorker('builder')
        const set = (image: string | null) =>
          mesh.call(agentImageEndpoints.setAgentImage, {
            params: { id: 'builder' },
            body: { image },
            timeoutMs: patient(300_000),
          })
        const tool = '#!/bin/sh\necho from the owner\n'
        const base = await debian()
        const { reference, name } = await build([`FROM ${base}`, 'COPY tool /usr/bin/own-tool'], { tool })
        const inAgent = () => runInside(mesh, 'builder', 'own-tool || echo absent')
        expect(await inAgent()).toContain('absent')
        expect((await set(name)).status).toBe(400)
        const shell = await build([`FROM ${base}`, 'RUN rm -f /bin/sh /usr/bin/sh /bin/dash || true'])
        const refused = await set(shell.reference)
        expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('cannot run /bin/sh')])
        expect(await inAgent()).toContain('absent')
        expect((await set(reference)).json()).toEqual({
          agent_id: 'builder',
          set_at: 'builder',
          image: reference,
        })
        expect(await inAgent()).toContain('from the owner')
        expect((await set(null)).status).toBe(200)
        expect(await inAgent()).toContain('absent')
      },
    )

    it('an image for another architecture is refused before its files are read', async () => {
      const plain = { uid: 0, mode: 0o644 }
      const layer = await buffer(Readable.from(tarArchive([tarFile('bin/sh', Buffer.from('x'), plain)])))
      const config = {
        architecture: 's390x',
        os: 'linux',
        rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
      }
      const name = newName('foreign')
      const manifest = [{ Config: 'config.json', RepoTags: [name], Layers: ['layer.tar'] }]
      const archive = tarArchive([
        tarFile('manifest.json', Buffer.from(JSON.stringify(manifest)), plain),
        tarFile('config.json', Buffer.from(JSON.stringify(config)), plain),
        tarFile('layer.tar', layer, plain),
      ])
      await followEngine(engine, await docker.loadImage(Readable.from(archive)))
      const { Id } = await docker.getImage(name).inspect()
      await expect(ensure(`localhost/flotilla-test/foreign@${Id}`)).rejects.toMatchObject({
        message: expect.stringContaining('is for linux/s390x'),
      })
    })
  },
  found,
)
