import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { homeTag, sandboxName, spelledName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startNameServer } from '../support/name-server.ts'
import type { NameServer } from '../support/name-server.ts'
import { ownAddressSpellings } from '../support/own-address-spellings.ts'
import { addDoorToken } from '../support/own-token.ts'
import { startPackageSite } from '../support/package-site.ts'
import type { PackageSite } from '../support/package-site.ts'
import { heedsLesson, verifies } from '../verifies.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'
import { patient } from '../support/patience.ts'

const found = await engineOfThisMachine()
const isSoak = process.env['FLOTILLA_SOAK'] === '1'
const host = 'packages.outside.test'
const idle = aCassette({ when: 'nothing', turns: [says('Nothing.')] })

withEngine(
  'the way out',
  (engine) => {
    let mesh: MeshProcess
    let site: PackageSite
    let names: NameServer
    /** Number of queries for the name that changes its address after the first lookup of both families. */
    let flips = 0
    let gateway: string
    let proxy: string

    beforeAll(async () => {
      site = await startPackageSite(host)
      names = await startNameServer((name) => {
        if (name === host) return ['127.0.0.1']
        if (name === 'rebinding.outside.test') return [flips++ < 2 ? '127.0.0.1' : '169.254.169.254']
        if (name === 'inside.outside.test') return ['127.0.0.1']
        if (name === 'mixed.outside.test') return ['93.184.216.34', '10.0.0.1']
        if (name === 'metadata.outside.test') return ['169.254.169.254']
        return null
      })
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: { idle },
        environment: { FLOTILLA_NO_INSTALL: '1' },
        settings: {
          rate_limits: { http: 100_000 },
          egress: {
            dns_servers: [`127.0.0.1:${names.port}`],
            allowed_private: [
              `${host}:${site.plainPort}`,
              `${host}:${site.tlsPort}`,
              `rebinding.outside.test:${site.plainPort}`,
            ],
            allowed_hosts: { narrow: ['*.allowed.test'] },
            // Allows these ports, so that only the address can be the reason to refuse a listener of the mesh or of
            // an agent.
            allowed_ports: [80, 443, 8400, 8420, 8421],
          },
        },
      })
      for (const id of ['clerk', 'other', 'narrow']) await mesh.createWorker(id)
      await mesh.call(meshHumanEndpoints.fileWrite, {
        params: { id: 'clerk', path: 'site.pem' },
        body: new Uint8Array(Buffer.from(site.certificate)),
      })
      const seen = await inside('clerk', 'echo "$HTTP_PROXY"')
      proxy = /http:\S+/.exec(seen)?.[0] ?? ''
      gateway = new URL(proxy).hostname
    })
    afterAll(async () => {
      await mesh?.stop()
      await site?.close()
      names?.close()
    })

    async function inside(agent: string, command: string, timeoutSeconds = 120): Promise<string> {
      const run = await mesh.invoke(agent, 'run_command', { command, timeout_s: timeoutSeconds })
      const { result } = run.outcome ?? {}
      return typeof result === 'string' ? result : `${run.outcome?.text} ${JSON.stringify(result)}`
    }
    const tls = () => `https://${host}:${site.tlsPort}`
    const plain = () => `http://${host}:${site.plainPort}`
    const curl = (url: string, more = '') =>
      `curl -s -o /dev/null --noproxy '' --max-time 10 -w '%{http_connect} %{http_code}' ${more} '${url}'`
    /** Returns the proxy's status for the CONNECT, and that of the whole request. */
    const asked = (url: string, more = '') => inside('clerk', curl(url, more))
    /** Does the same for many addresses, with each address before its result. */
    const askedOfAll = async (urls: readonly string[]) =>
      (await inside('clerk', urls.map((url) => `echo '${url}' $(${curl(url)})`).join('\n'), 250))
        .trim()
        .split('\n')
        .slice(1)

    it('the egress proxy is in the environment of programs, in both spellings, and not in that of the agent’s own start', async () => {
      const said = await inside('clerk', 'env')
      for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'])
        expect(said).toContain(`\n${name}=${proxy}\n`)
      expect(proxy).toMatch(/^http:\/\/clerk:[\w-]{43}@[\d.]+:8421$/)
      for (const name of ['NO_PROXY', 'no_proxy'])
        expect(said).toMatch(new RegExp(`\n${name}=${gateway},127`))
      expect(said).toContain('\nNODE_USE_ENV_PROXY=1\n')
      expect(await inside('clerk', "tr '\\0' '\\n' < /proc/1/environ; cat /proc/1/cmdline")).not.toContain(
        'NODE_USE_ENV_PROXY',
      )
    })

    it('the egress proxy is taken by curl, over TLS and plain', async () => {
      verifies('endpoints:outbound:filtered')
      const said = await inside(
        'clerk',
        `curl -sS --cacert site.pem ${tls()}/page; curl -sS ${plain()}/page; curl -sS --cacert site.pem ${tls()}/large | wc -c`,
      )
      expect(said).toBe(`exit code 0\na page from outsidea page from outside${8 * 1024 * 1024}\n`)
      expect(site.requests.every(({ headers }) => headers['proxy-authorization'] === undefined)).toBe(true)
    })

    it('the egress proxy is taken by git, to clone and to push', async () => {
      const said = await inside(
        'clerk',
        `export GIT_SSL_CAINFO=$PWD/site.pem GIT_AUTHOR_NAME=c GIT_AUTHOR_EMAIL=c@x GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@x;
         git clone -q ${tls()}/repository.git cloned && cat cloned/from-outside.txt &&
         cd cloned && git commit -q --allow-empty -m More && git push -q origin HEAD:more && git ls-remote origin more`,
      )
      expect(said).toMatch(/^exit code 0\ncloned through the proxy\n[0-9a-f]{40}\trefs\/heads\/more\n$/)
    })

    it('the egress proxy is taken by npm', async () => {
      const said = await inside(
        'clerk',
        `mkdir -p installs && cd installs && npm install --cafile ../site.pem --registry ${tls()}/npm/ --no-audit --no-fund --no-update-notifier far-package >npm.log 2>&1; node -p "require('far-package')" || cat npm.log`,
        300,
      )
      expect(said).toBe('exit code 0\ninstalled from outside\n')
    })

    it('npm installs from its cache below /data after a restart, without a request', async () => {
      const common = `--cafile ../site.pem --registry ${tls()}/npm/ --no-audit --no-fund --no-update-notifier`
      const first = await inside(
        'clerk',
        `mkdir -p cached && cd cached && npm install ${common} far-package >npm.log 2>&1; node -p "require('far-package')" || cat npm.log`,
        300,
      )
      expect(first).toBe('exit code 0\ninstalled from outside\n')
      await mesh.call(meshHumanEndpoints.agentRestart, { params: { id: 'clerk' } })
      proxy = /http:\S+/.exec(await inside('clerk', 'echo $HTTP_PROXY'))?.[0] ?? ''
      const { length } = site.requests
      const second = await inside(
        'clerk',
        `cd cached && rm -r node_modules && npm ci --offline ${common} >npm.log 2>&1; node -p "require('far-package')" || cat npm.log; ls /data/.npm/_cacache | head -1; env | grep -E '^(PIP_CACHE_DIR|CARGO_HOME|GOPATH|UV_CACHE_DIR)=' | sort`,
        300,
      )
      expect(second).toBe(
        'exit code 0\ninstalled from outside\ncontent-v2\nCARGO_HOME=/data/.cargo\nGOPATH=/data/go\nPIP_CACHE_DIR=/data/.cache/pip\nUV_CACHE_DIR=/data/.cache/uv\n',
      )
      expect(site.requests).toHaveLength(length)
    })

    it('the egress proxy is taken by Node’s fetch', async () => {
      const said = await inside(
        'clerk',
        `NODE_EXTRA_CA_CERTS=site.pem node -e "fetch('${tls()}/page').then(r => r.text()).then(console.log)"; node -e "fetch('${plain()}/page').then(r => r.text()).then(console.log)"`,
      )
      expect(said).toBe('exit code 0\na page from outside\na page from outside\n')
    })

    it('the egress proxy is taken by Python’s urllib, and by pip where this machine has one to lend', async ({
      skip,
    }) => {
      const said = await inside(
        'clerk',
        `SSL_CERT_FILE=site.pem python3 -c "import urllib.request as r; print(r.urlopen('${tls()}/page').read().decode())"`,
      )
      expect(said).toBe('exit code 0\na page from outside\n')
      const wheel = await bundledPip()
      if (wheel === null) return skip('no pip on this machine; the image has none')
      await mesh.call(meshHumanEndpoints.fileWrite, {
        params: { id: 'clerk', path: basename(wheel) },
        body: new Uint8Array(await readFile(wheel)),
        timeoutMs: patient(60_000),
      })
      const installed = await inside(
        'clerk',
        `python3 ${basename(wheel)}/pip install -q --no-cache-dir --disable-pip-version-check --no-compile --cert site.pem --index-url ${tls()}/simple/ --target pips far-wheel 2>&1; PYTHONPATH=pips python3 -c "import far_wheel; print(far_wheel.said)"`,
        300,
      )
      expect(installed).toContain('installed from outside')
      return undefined
    })

    it('the egress proxy leads neither to the mesh, nor inside, nor to metadata, by any spelling', async () => {
      heedsLesson(27)
      verifies('limits:outbound-redirects:revalidated', 'errors:outbound:blocked-range')
      const meshPort = new URL(mesh.url).port
      const other = /(\d+\.\d+\.\d+\.\d+)/.exec(await inside('other', 'hostname -i'))?.[1] ?? ''
      expect(other).not.toBe('')
      const tunnels = [
        `https://${gateway}:8420/`,
        `https://${gateway}:8421/`,
        `https://127.0.0.1:${meshPort}/`,
        'https://127.0.0.1/',
        'https://[::1]/',
        'https://[::ffff:7f00:1]/',
        'https://[fd00:ec2::254]/',
        'https://2130706433/',
        'https://0x7f.1/',
        'https://169.254.169.254/',
        'https://168.63.129.16/',
        'https://100.100.100.200/',
        `https://${other}:8400/`,
        'https://inside.outside.test/',
        'https://mixed.outside.test/',
        'https://metadata.outside.test/',
        'https://nowhere.outside.test/',
        `https://${host}/`,
        `https://${host}:22/`,
      ]
      const refused = await askedOfAll(tunnels)
      expect(refused).toEqual(tunnels.map((url) => `${url} 403 000`))
      const pages = [
        `http://127.0.0.1:${meshPort}/`,
        `http://${gateway}:8420/`,
        'http://169.254.169.254/latest/meta-data/',
        'http://metadata.outside.test/',
      ]
      expect(await askedOfAll(pages)).toEqual(pages.map((url) => `${url} 000 403`))
      const redirect = `${plain()}/inside?to=http://169.254.169.254/latest/`
      expect(await asked(redirect, '-L')).toMatch(/000 403$/)
    })

    it('the egress proxy leads to no listener of the mesh by any spelling of any address of this machine, with their ports opened', async () => {
      const other = /(\d+\.\d+\.\d+\.\d+)/.exec(await inside('other', 'hostname -i'))?.[1] ?? ''
      // Each network of the engine adds an address; the soak test tries all of them in every spelling.
      const spelt = ['127.0.0.1', '0.0.0.0', gateway]
      const isSpelt = (address: string) => isSoak || spelt.includes(address)
      const spellings = ownAddressSpellings(['inside.outside.test'], isSpelt)
      const targets = [gateway, other, '2130706433', '0', ...spellings, `[::ffff:${other}]`]
      expect(spellings).toContain(gateway)
      await mesh.call(meshHumanEndpoints.fileWrite, {
        params: { id: 'clerk', path: 'targets' },
        body: new Uint8Array(Buffer.from(targets.join('\n'))),
      })
      const said = await inside(
        'clerk',
        `python3 - "$HTTP_PROXY" 8400 8420 8421 <<'END'\n${knockProgram}\nEND`,
        250,
      )
      const { count, odd, literals } = JSON.parse(/\{.*\}/.exec(said)?.[0] ?? said) as {
        readonly count: number
        readonly odd: readonly string[]
        readonly literals: readonly string[]
      }
      expect(count).toBe(targets.length * 3 * 2)
      expect(odd).toEqual([])
      for (const literal of [gateway, other, '2130706433', '0'])
        for (const port of [8400, 8420, 8421]) {
          expect(literals).toContain(`CONNECT ${literal}:${port} address-refused`)
          expect(literals).toContain(`GET http://${literal}:${port}/ address-refused`)
        }
    })

    it('the egress proxy asks for a name once, and goes where that answer leads', async () => {
      verifies('limits:outbound-dns-pinned')
      const before = names.asked.length
      const get = () => asked(`http://rebinding.outside.test:${site.plainPort}/page`)
      expect(await get()).toMatch(/000 200$/)
      // One query for each address family; from then on the name resolves to the metadata address.
      expect(names.asked.slice(before)).toEqual(['rebinding.outside.test', 'rebinding.outside.test'])
      expect(await get()).toMatch(/000 403$/)
    })

    it('the proxy rejects the agent token, guessed tokens and requests without a token', async () => {
      const doorToken = addDoorToken(mesh.home, 'clerk')
      const through = (user: string, password: string) =>
        asked(
          'https://packages.outside.test/',
          `--proxy http://${gateway}:8421 --proxy-user ${user}:${password}`,
        )
      expect(await through('clerk', doorToken)).toMatch(/403 000$/)
      expect(await through('clerk', 'guess')).toMatch(/407 000$/)
      expect(await asked('https://packages.outside.test/', `--proxy http://${gateway}:8421`)).toMatch(
        /407 000$/,
      )
    })

    it('the egress proxy takes no name for an identity, and another’s token only while that one works', async () => {
      const own = new URL(proxy).password
      const others = /:([\w-]{43})@/.exec(await inside('other', 'echo $HTTP_PROXY'))?.[1] ?? ''
      const get = (user: string, password: string) =>
        inside(
          'clerk',
          `curl -sS -o /dev/null -w '%{http_code}' --proxy http://${gateway}:8421 --proxy-user ${user}:${password} ${plain()}/page`,
        )
      expect(await get('other', own)).toMatch(/200$/)
      // `other` has no active run now.
      expect(await get('other', others)).toMatch(/403$/)
      const counted = (await mesh.call(meshHumanEndpoints.metrics)).text
      expect(counted).toMatch(
        /flotilla_proxy_connections_total\{agent="clerk",host="packages\.outside\.test"\} \d+/,
      )
      expect(counted).not.toMatch(/flotilla_proxy_connections_total\{agent="other",host="packages/)
    })

    it('the egress proxy is narrowed to the owner’s list for an agent that has one, for its tool as well', async () => {
      const said = await inside('narrow', `curl -sS -o /dev/null -w '%{http_code}' ${plain()}/page`)
      expect(said).toMatch(/403$/)
      const tool = await mesh.invoke('narrow', 'http_request', { url: `${plain()}/page` })
      expect(JSON.stringify(tool.outcome)).toContain('destination-refused')
      const clerk = await mesh.invoke('clerk', 'http_request', { url: `${plain()}/page` })
      expect(JSON.stringify(clerk.outcome)).toContain('a page from outside')
    })

    it('the egress proxy closes with its run, whatever goes on in the container, and with the tokens of the start', async () => {
      const openNow = async () =>
        /flotilla_proxy_open (\d+)/.exec((await mesh.call(meshHumanEndpoints.metrics)).text)?.[1]
      const run = inside(
        'clerk',
        `(setsid curl -sS -N -o held ${plain()}/hold; echo "ended with $?") >curl.log 2>&1 & sleep 6; cat held`,
      )
      await eventually('it is open', async () => (await openNow()) === '1')
      expect(await run).toContain('begun')
      await eventually('it is closed', async () => (await openNow()) === '0')
      expect(await inside('clerk', 'sleep 1; cat curl.log')).toMatch(/curl: \(\d+\) [\s\S]*ended with [1-9]/)
      const old = proxy
      const restarted = await mesh.call(meshHumanEndpoints.agentRestart, {
        params: { id: 'clerk' },
        timeoutMs: patient(60_000),
      })
      expect(restarted.status, restarted.text).toBe(200)
      const said = await inside(
        'clerk',
        `curl -s -o /dev/null -w '%{http_code}' --proxy '${old}' ${plain()}/page`,
      )
      expect(said).toMatch(/407$/)
    })

    it('the egress proxy has no name server: none inside, none outside, and none through the engine’s own', async () => {
      const networkName = `flotilla-test-names-${process.pid}`
      const network = await engine.docker.createNetwork({ Name: networkName })
      const { IPAM } = (await network.inspect()) as {
        IPAM: { Config: { Gateway?: string; Subnet: string }[] }
      }
      const homeId = await homeIdOf(mesh)
      const outside = IPAM.Config[0]?.Gateway ?? IPAM.Config[0]?.Subnet.replace(/0\/\d+$/, '1') ?? ''
      const listeners = [
        await startNameServer(() => ['6.6.6.6'], { host: gateway, port: 53 }),
        await startNameServer(() => ['6.6.6.6'], { host: outside, port: 53 }),
      ]
      try {
        const said = await inside(
          'clerk',
          `cat > ask.py <<'END'
${askProgram}
END
python3 ask.py 127.0.0.11 ${gateway} ${outside} 8.8.8.8; getent hosts tunnel.outside.test || echo "getent finds nothing"; for n in ${[sandboxName(homeId, 'other'), spelledName(homeId, 'other'), 'agent', 'other'].join(' ')}; do getent hosts $n && echo "a sibling has a name"; done; true`,
          200,
        )
        expect(said).toContain('getent finds nothing')
        expect(said).not.toContain('6.6.6.6')
        for (const server of [gateway, outside, '8.8.8.8'])
          for (const way of ['udp', 'tcp']) expect(said).toMatch(new RegExp(`${server} ${way} (?!answered)`))
        // The engine's own name server, which knows all containers of the network, is unreachable if the mesh runs
        // as root.
        expect(said).not.toContain('a sibling has a name')
        for (const way of ['udp', 'tcp'])
          expect(said).toMatch(new RegExp(`127\\.0\\.0\\.11 ${way} \\w+Error`))
        expect(said).not.toMatch(/answered with an address/)
        expect(listeners.map(({ asked: questions }) => questions)).toEqual([[], []])
        // The listeners exist: this machine reaches them.
        await promisify(execFile)('python3', ['-c', askProgram, gateway, outside])
        for (const { asked: questions } of listeners) {
          expect(questions.some((question) => question.startsWith('a connection'))).toBe(true)
          expect(questions.some((question) => !question.startsWith('a connection'))).toBe(true)
        }
      } finally {
        for (const listener of listeners) listener.close()
        await network.remove()
      }
    })

    it('the egress proxy is the only one: raw sockets, ICMP, IPv6, UDP and other ports lead nowhere', async () => {
      const said = await inside('clerk', `python3 - ${gateway} <<'END'\n${escapeProgram}\nEND`, 200)
      const seen = JSON.parse(/\{.*\}/.exec(said)?.[0] ?? said) as Record<string, string>
      expect(Object.keys(seen).length).toBeGreaterThan(14)
      for (const [way, outcome] of Object.entries(seen)) expect(`${way}: ${outcome}`).not.toMatch(/: open/)
    })

    it('the egress proxy is written down: what was opened by exception, what was refused, what went through', async () => {
      const journal = await mesh.command('verify-journal')
      expect(journal.code).toBe(0)
      const metrics = (await mesh.call(meshHumanEndpoints.metrics)).text
      expect(metrics).toMatch(
        /flotilla_proxy_received_bytes_total\{agent="clerk",host="packages\.outside\.test"\} \d{7,}\n/,
      )
      expect(metrics).toMatch(/flotilla_proxy_refused_total\{agent="clerk",host="\(other\)"\} \d\d/)
      await eventually('all is closed', async () =>
        /flotilla_proxy_open 0/.test((await mesh.call(meshHumanEndpoints.metrics)).text),
      )
    })
  },
  found,
)

async function homeIdOf(mesh: MeshProcess): Promise<string> {
  const id = (await readFile(join(mesh.home, 'data', 'home-id'), 'utf8')).trim()
  expect(homeTag(id)).toMatch(/^[0-9a-f]{8}$/)
  return id
}

/** Path of the pip wheel that Python installations include; the agent image has no pip. */
async function bundledPip(): Promise<string | null> {
  const program =
    'import ensurepip, pathlib; print(next((pathlib.Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")))'
  try {
    return (await promisify(execFile)('python3', ['-c', program])).stdout.trim()
  } catch {
    return null
  }
}

/**
 * A program that requests each target and port from the forward proxy, by CONNECT and by GET, and prints the code
 * of each refusal.
 */
const knockProgram = `
import base64, json, socket, sys
from urllib.parse import urlsplit
proxy = urlsplit(sys.argv[1])
count, odd, literals = 0, [], []
proof = base64.b64encode(f'{proxy.username}:{proxy.password}'.encode()).decode()
for target in open('targets').read().split('\\n'):
    for port in sys.argv[2:]:
        for line in (f'CONNECT {target}:{port}', f'GET http://{target}:{port}/'):
            s = socket.create_connection((proxy.hostname, proxy.port), 30)
            s.sendall(f'{line} HTTP/1.1\\r\\nHost: x\\r\\nProxy-Authorization: Basic {proof}\\r\\n\\r\\n'.encode())
            said = b''
            while True:
                piece = s.recv(65536)
                if not piece: break
                said += piece
                if said.startswith(b'HTTP/1.1 200'): break
            s.close()
            body = said.partition(b'\\r\\n\\r\\n')[2]
            try: code = json.loads(body)['code']
            except Exception: code = str(said[:40])
            count += 1
            if code not in ('address-refused', 'name-unresolved', 'bad-request'): odd.append(f'{line} {code}')
            if target.replace('.', '').isdigit() and len(literals) < 250: literals.append(f'{line} {code}')
print(json.dumps({'count': count, 'odd': odd[:20], 'literals': literals}))
`

/** A program that sends one A query over UDP and opens one TCP connection to each of these servers. */
const askProgram = `
import socket, sys
question = b'\\\\x12\\\\x34\\\\x01\\\\x00\\\\x00\\\\x01\\\\x00\\\\x00\\\\x00\\\\x00\\\\x00\\\\x00\\\\x06secret\\\\x07outside\\\\x04test\\\\x00\\\\x00\\\\x01\\\\x00\\\\x01'
for server in sys.argv[1:]:
    try:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(4)
        s.connect((server, 53)); s.send(question); reply = s.recv(2000)
        print(server, 'udp', 'answered with an address' if reply[7] else f'said {reply[3] & 15}')
    except Exception as e: print(server, 'udp', type(e).__name__)
    try:
        s = socket.create_connection((server, 53), 4); print(server, 'tcp', 'connected')
    except Exception as e: print(server, 'tcp', type(e).__name__)
`.replaceAll('\\\\', '\\')

/** A program that tries every other way in which a packet could leave the container. */
const escapeProgram = `
import socket, struct, sys, json
gateway, seen = sys.argv[1], {}
def attempt(way, action):
    try: seen[way] = 'open' if action() else 'nothing came back'
    except Exception as e: seen[way] = f'{type(e).__name__} {e}'
def tcp(family, host, port):
    def go():
        s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(3); s.connect((host, port)); return True
    return go
def udp(family, host, port):
    def go():
        s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(3); s.connect((host, port))
        s.send(b'x'); return s.recv(10)
    return go
def icmp(host):
    def go():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP); s.settimeout(3)
        body = struct.pack('!BBHHH', 8, 0, 0, 1, 1); s.sendto(body, (host, 0)); return s.recv(100)
    return go
attempt('raw ip', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW))
attempt('raw icmp', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
attempt('raw tcp', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP))
attempt('raw ipv6', lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW))
attempt('packets', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)))
attempt('icmp gateway', icmp(gateway))
attempt('icmp outside', icmp('8.8.8.8'))
attempt('udp outside', udp(socket.AF_INET, '8.8.8.8', 53))
attempt('udp quic', udp(socket.AF_INET, '1.1.1.1', 443))
attempt('udp gateway', udp(socket.AF_INET, gateway, 8421))
attempt('tcp outside', tcp(socket.AF_INET, '1.1.1.1', 443))
attempt('ipv6 outside', tcp(socket.AF_INET6, '2606:4700:4700::1111', 443))
attempt('ipv6 mapped', tcp(socket.AF_INET6, '::ffff:1.1.1.1', 443))
attempt('ipv6 link', udp(socket.AF_INET6, 'ff02::1', 5353))
attempt('broadcast', udp(socket.AF_INET, '255.255.255.255', 67))
attempt('multicast', udp(socket.AF_INET, '224.0.0.251', 5353))
for port in (22, 53, 80, 2375, 8400, 8422): attempt(f'gateway {port}', tcp(socket.AF_INET, gateway, port))
print(json.dumps(seen))
`
