import type { Page } from 'playwright-core'
import { openSessions } from '../tabs/debugging-sessions.ts'
import type { Secrets } from '../tabs/secrets.ts'

/** Marks the host of a closed shadow root that shows a secret. Scripts cannot look inside, so the host is hidden. */
const hostMark = 'data-flotilla-echo-closed'
export const closedRootStyle = `[${hostMark}] { display: none !important; }`

/** A node of the document in Chromium's debugging protocol, which includes closed shadow roots. */
interface DomNode {
  readonly backendNodeId: number
  readonly nodeType: number
  readonly localName?: string
  readonly nodeValue?: string
  readonly attributes?: readonly string[]
  readonly children?: readonly DomNode[]
  readonly shadowRoots?: readonly DomNode[]
  readonly shadowRootType?: 'user-agent' | 'open' | 'closed'
  readonly contentDocument?: DomNode
}

/** Hosts of closed shadow roots that show a secret, with the debugging sessions that found them. */
export interface ClosedEchoes {
  /** Identifies the found hosts: two searches with the same hosts have equal marks. */
  readonly mark: string
  /** Removes the hosts from the page's layout until `show` is called. */
  hide(): Promise<void>
  /** Shows the hosts again and closes the debugging sessions. */
  show(): Promise<void>
  close(): Promise<void>
}

/**
 * Searches closed shadow roots for typed secrets. Frames in another process have their own debugging session. Rejects
 * if the browser does not answer.
 */
export async function findClosedEchoes(page: Page, secrets: Secrets): Promise<ClosedEchoes> {
  const sessions = await openSessions(page)
  const found = await Promise.all(
    sessions.map(async (session) => {
      const { root } = await session.send('DOM.getDocument', { depth: -1, pierce: true })
      return hostsIn(root as DomNode, secrets).map((backendNodeId) => ({ session, backendNodeId }))
    }),
  )
  const hosts = found.flat()
  const close = async (): Promise<void> => {
    await Promise.all(sessions.map((session) => session.detach().catch(() => undefined)))
  }
  const call = async (body: string): Promise<void> => {
    for (const { session, backendNodeId } of hosts) {
      const { object } = await session.send('DOM.resolveNode', { backendNodeId })
      if (object.objectId === undefined) continue
      const { objectId } = object
      await session.send('Runtime.callFunctionOn', {
        objectId,
        functionDeclaration: `function () { ${body} }`,
      })
    }
  }
  return {
    mark: found.map((one) => one.map(({ backendNodeId }) => backendNodeId).join()).join(';'),
    hide: () => call(`this.setAttribute('${hostMark}', '')`),
    show: async () => {
      await call(`this.removeAttribute('${hostMark}')`).catch(() => undefined)
      await close()
    },
    close,
  }
}

/** Returns the outermost hosts only, because hiding a host hides its content. Pure. */
function hostsIn(node: DomNode, secrets: Secrets): readonly number[] {
  const roots = node.shadowRoots ?? []
  const closed = roots.filter(({ shadowRootType }) => shadowRootType === 'closed')
  if (closed.some((root) => secrets.find(textsIn(root).join('\n')).length > 0)) return [node.backendNodeId]
  const within = [
    ...(node.children ?? []),
    ...roots,
    ...(node.contentDocument === undefined ? [] : [node.contentDocument]),
  ]
  return within.flatMap((inner) => hostsIn(inner, secrets))
}

const textNode = 3

function textsIn(node: DomNode): readonly string[] {
  if (node.localName === 'script' || node.localName === 'style') return []
  return [
    ...(node.nodeType === textNode ? [node.nodeValue ?? ''] : []),
    ...(node.attributes ?? []),
    ...[...(node.children ?? []), ...(node.shadowRoots ?? [])].flatMap(textsIn),
  ]
}
