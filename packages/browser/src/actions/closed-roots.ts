import type { CDPSession, Page } from 'playwright-core'
import type { Secrets } from '../tabs/secrets.ts'

/** On the host of a closed shadow root that shows a secret: scripts of a page cannot look inside, so it is left out whole. */
const hostMark = 'data-flotilla-echo-closed'
export const closedRootStyle = `[${hostMark}] { display: none !important; }`

/** A node of the document as the browser's debugging protocol tells it, closed shadow roots included. */
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

/** Hosts of closed shadow roots that show a secret, each with its session. */
export interface ClosedEchoes {
  /** The same for the same hosts. */
  readonly mark: string
  /** Until `show` they take no room in the page. */
  hide(): Promise<void>
  /** Shows them again, and closes. */
  show(): Promise<void>
  close(): Promise<void>
}

/**
 * Searches closed shadow roots for typed secrets. Pages of another process have a session of their own. Rejects where the
 * browser does not answer.
 */
export async function findClosedEchoes(page: Page, secrets: Secrets): Promise<ClosedEchoes> {
  const sessions = await sessionsOf(page)
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

async function sessionsOf(page: Page): Promise<readonly CDPSession[]> {
  const context = page.context()
  const [first, ...others] = page.frames()
  const own = await context.newCDPSession(page)
  const further = await Promise.all(
    // A frame of the same process is part of the session of its page, and has none.
    others.filter((frame) => frame !== first).map((frame) => context.newCDPSession(frame).catch(() => null)),
  )
  return [own, ...further.flatMap((session) => session ?? [])]
}

/** Pure. The outermost host counts: it hides what is inside. */
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
