import { browserLimits } from '@flotilla/protocol/browser-service-api'
import { ActionProblem } from './action-problem.ts'
import type { ActionScene, Acts } from './action.ts'
import { findCaptcha } from './find-captcha.ts'
import { secretMark, isMasked } from './mask.ts'
import { formatSnapshot } from './format-snapshot.ts'
import type { SnapshotNode } from './format-snapshot.ts'
import { scrubNodes } from './scrub-nodes.ts'

/** The maximum depth of the tree. It includes nodes without meaning, which `formatSnapshot` skips. */
const treeDepthMax = 60

/** Playwright's accessibility tree, bounded and with this package's own references. */
export const looking: Acts<'snapshot'> = {
  async snapshot(scene, { frame }) {
    const { page, live, left } = scene
    const options = { mode: 'ai', depth: treeDepthMax, timeout: left() } as const
    const root = frame === undefined ? page : (await frameOf(scene, frame)).locator(':root')
    const found = asNodes(await root.ariaSnapshotJSON(options))
    const nodes = live.secrets.any ? scrubNodes(found, live.secrets.find) : found
    live.references.begin(page)
    const hidden = await fieldsToHide(scene, nodes)
    const { text, elements, leftOut } = formatSnapshot(nodes, {
      give: live.references.give,
      isHidden: (inner) => hidden.has(inner),
      clean: live.secrets.scrub,
    })
    return { text, elements, left_out: leftOut, captcha: await findCaptcha(page) }
  },
}

async function frameOf({ find }: ActionScene, ref: string) {
  const content = await (await find(ref)).contentFrame()
  if (content === null)
    throw new ActionProblem(
      'not-possible',
      `${ref} is not a frame. Take a snapshot without the parameter frame.`,
    )
  return content
}

/** Returns the visible fields whose value must be hidden. Each is checked in the page, which alone knows its type. */
async function fieldsToHide(
  { page }: ActionScene,
  nodes: readonly SnapshotNode[],
): Promise<ReadonlySet<string>> {
  const fields = fieldsOf(nodes).slice(0, browserLimits.snapshotElementsMax)
  const hidden = await Promise.all(
    fields.map(async (inner) =>
      page
        .locator(`aria-ref=${inner}`)
        .evaluate(isMasked, secretMark, { timeout: 1000 })
        // A field that the page has removed counts as hidden, because its type can no longer be checked.
        .catch(() => true)
        .then((isHidden) => (isHidden ? [inner] : [])),
    ),
  )
  return new Set(hidden.flat())
}

const fieldRoles = new Set(['textbox', 'searchbox', 'combobox', 'spinbutton'])

function fieldsOf(nodes: readonly SnapshotNode[]): string[] {
  return nodes.flatMap((node) => {
    if (typeof node === 'string') return []
    const isField = fieldRoles.has(node.role) && node.text !== undefined && node.ref !== undefined
    return [...(isField && node.ref !== undefined ? [node.ref] : []), ...fieldsOf(node.children ?? [])]
  })
}

/** Validates the result of Playwright's script in the page, which the page may have changed. Drops invalid nodes. */
function asNodes(value: unknown): SnapshotNode[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((entry: unknown): SnapshotNode[] => {
    if (typeof entry === 'string') return [entry]
    if (typeof entry !== 'object' || entry === null || !('role' in entry)) return []
    const fields = new Map<string, unknown>(Object.entries(entry))
    const word = (name: string) => {
      const found = fields.get(name)
      return typeof found === 'string' && found !== '' ? { [name]: found } : {}
    }
    const states = stateNames.flatMap((name) => {
      const state = fields.get(name)
      if (state === true) return [name]
      return typeof state === 'string' || typeof state === 'number' ? [`${name}=${state}`] : []
    })
    return [
      {
        role: String(fields.get('role')),
        ...word('name'),
        ...word('text'),
        ...word('ref'),
        ...word('url'),
        ...word('placeholder'),
        states,
        children: asNodes(fields.get('children')),
      },
    ]
  })
}

const stateNames = ['active', 'checked', 'disabled', 'expanded', 'invalid', 'level', 'pressed', 'selected']
