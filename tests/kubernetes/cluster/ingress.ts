import { createServer } from 'node:https'
import { once } from 'node:events'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as z from 'zod'
import type { Api } from './api.ts'

const ingressSchema = z.looseObject({
  spec: z.looseObject({
    tls: z.array(z.looseObject({ hosts: z.array(z.string()), secretName: z.string() })),
    rules: z.array(
      z.looseObject({
        host: z.string(),
        http: z.looseObject({
          paths: z.array(
            z.looseObject({
              path: z.string(),
              pathType: z.literal('Prefix'),
              backend: z.looseObject({
                service: z.looseObject({ name: z.string(), port: z.looseObject({ name: z.string() }) }),
              }),
            }),
          ),
        }),
      }),
    ),
  }),
})
const secretSchema = z.looseObject({ data: z.looseObject({ 'tls.crt': z.string(), 'tls.key': z.string() }) })
const endpointsSchema = z.looseObject({
  subsets: z
    .array(
      z.looseObject({
        addresses: z.array(z.looseObject({ ip: z.string() })).default([]),
        ports: z.array(z.looseObject({ name: z.string().optional(), port: z.number() })).default([]),
      }),
    )
    .default([]),
})

/**
 * A reverse proxy that implements Ingress and nothing else: it terminates TLS with the secret that the Ingress
 * names, and forwards requests for a host to the pods behind the Service. It replaces a published controller, whose
 * build takes longer than all tests. Listens on `host`, on a port that it returns.
 */
export async function serveIngress(
  api: Api,
  at: { readonly namespace: string; readonly name: string; readonly host: string },
) {
  const { namespace, name } = at
  const of = (kind: string, one: string) => `/api/v1/namespaces/${namespace}/${kind}/${one}`
  const { spec } = ingressSchema.parse(
    await api.get(`/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses/${name}`),
  )
  const { data } = secretSchema.parse(await api.get(of('secrets', spec.tls[0]?.secretName ?? '')))
  const text = (encoded: string) => Buffer.from(encoded, 'base64').toString()

  async function backendOf(host: string, path: string): Promise<{ host: string; port: number } | null> {
    const rule = spec.rules.find((one) => one.host === host)
    const found = rule?.http.paths.find((one) => path.startsWith(one.path))
    if (found === undefined) return null
    const { service } = found.backend
    const { subsets } = endpointsSchema.parse(await api.get(of('endpoints', service.name)))
    for (const { addresses, ports } of subsets) {
      const port = ports.find((one) => one.name === service.port.name)
      const [first] = addresses
      if (port && first) return { host: first.ip, port: port.port }
    }
    return null
  }

  const server = createServer(
    { cert: text(data['tls.crt']), key: text(data['tls.key']) },
    (asked, answer) => {
      void backendOf(asked.headers.host?.split(':')[0] ?? '', asked.url ?? '/').then((backend) => {
        if (backend === null) return answer.writeHead(404).end()
        const headers = {
          ...asked.headers,
          'x-forwarded-proto': 'https',
          'x-forwarded-for': asked.socket.remoteAddress ?? '',
        }
        const passed = request({ ...backend, method: asked.method, path: asked.url, headers }, (reply) => {
          answer.writeHead(reply.statusCode ?? 502, reply.headers)
          reply.pipe(answer)
        })
        passed.on('error', () => answer.writeHead(502).end())
        return asked.pipe(passed)
      })
    },
  )
  server.listen(0, at.host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
