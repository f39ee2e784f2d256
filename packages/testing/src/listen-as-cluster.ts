import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'

/** What the API server of a cluster answers to one request; null refuses it with the status 500. */
export type ClusterAnswer = (method: string, path: string) => unknown

/**
 * Listens as the API server of a cluster until the test ends. Returns the path of a kubeconfig that names it, and the
 * requests so far, each path without its last part.
 */
export async function listenAsCluster(folder: string, answer: ClusterAnswer) {
  const [keyFile, file] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const form = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=cluster'
  const named = ['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', keyFile, '-out', file]
  await promisify(execFile)('openssl', [...form.split(' '), ...named])
  const asked: string[] = []
  const server = createServer({ key: await readFile(keyFile), cert: await readFile(file) }, (call, reply) => {
    const [method, path] = [call.method ?? '', call.url ?? '']
    asked.push(`${method} ${path.replace(/\/[^/]*$/, '/')}`)
    const found = answer(method, path)
    reply.writeHead(found === null ? 500 : 200, { 'content-type': 'application/json' })
    reply.end(JSON.stringify(found ?? { kind: 'Status', code: 500 }))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const place = server.address()
  const port = typeof place === 'object' ? place?.port : undefined
  const kubeconfig = join(folder, 'kubeconfig')
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [
      { name: 'c', cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority': file } },
    ],
    users: [{ name: 'u', user: { token: 't' } }],
  }
  await writeFile(kubeconfig, JSON.stringify(content))
  return { kubeconfig, asked, close: () => server.close() }
}
