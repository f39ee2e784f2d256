import { browserServicePort, browserServiceVariables as names } from '@flotilla/protocol/browser-service-api'

/** The environment of a browser's container at its start. It contains no secret. */
export interface BrowserEnvironment {
  readonly agentId: string
  /** Raw Ed25519 public key of the mesh, base64url. */
  readonly meshPublicKey: string
  /** The mesh's browser proxy. */
  readonly proxy: { readonly host: string; readonly port: number }
  readonly port: number
  readonly dataDirectory: string
  readonly briefingDirectory: string
}

const patterns = {
  [names.agentId]: /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/,
  [names.meshPublicKey]: /^[A-Za-z0-9_-]{43}$/,
  [names.gateway]: /^\d{1,3}(?:\.\d{1,3}){3}$/,
  [names.proxyPort]: /^[1-9]\d{0,4}$/,
}

/** Throws one Error that names every missing or invalid variable. */
export function readEnvironment(variables: Readonly<Record<string, string | undefined>>): BrowserEnvironment {
  const wrong = Object.entries(patterns).filter(([name, pattern]) => !pattern.test(variables[name] ?? ''))
  if (wrong.length > 0)
    throw new Error(`These variables are missing or wrong: ${wrong.map(([name]) => name).join(', ')}`)
  return {
    agentId: variables[names.agentId] ?? '',
    meshPublicKey: variables[names.meshPublicKey] ?? '',
    proxy: { host: variables[names.gateway] ?? '', port: Number(variables[names.proxyPort]) },
    port: browserServicePort,
    dataDirectory: '/data',
    briefingDirectory: '/briefing',
  }
}
