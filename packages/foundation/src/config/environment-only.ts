import { applyEdits, findNodeAtLocation, modify, parseTree } from 'jsonc-parser'
import type { Node } from 'jsonc-parser'
import type { FileEditor } from './atomic-file.ts'

/** Secrets of the CAPTCHA solver: they are read from the environment alone and bypass the vault and every file. */
export const environmentOnlyNames = [
  'CAPTCHA_SOLVER_KEY',
  'CAPTCHA_SOLVER_KEY_SECONDARY',
  'CAPTCHA_SOLVER_PROXY_LOGIN',
  'CAPTCHA_SOLVER_PROXY_PASSWORD',
] as const

/** Returns a JSON text without `environmentOnlyNames`, at any depth and in either case, and those removed. Pure. */
export function withoutEnvironmentOnly(text: string): {
  readonly text: string
  readonly removed: readonly string[]
} {
  const removed: string[] = []
  let rest = text
  // Each pass removes one name; the passes are bounded by the length of the text.
  for (;;) {
    const root = parseTree(rest)
    const path = root && pathOfName(root)
    if (!path || !findNodeAtLocation(root, path)) return { text: rest, removed }
    const next = applyEdits(rest, modify(rest, path, undefined, {}))
    if (next.length >= rest.length) return { text: rest, removed }
    removed.push(String(path.at(-1)))
    rest = next
  }
}

/** Removes the names of `environmentOnlyNames` from a file and returns the removed names, never their values. */
export async function stripEnvironmentOnly(editor: FileEditor, path: string): Promise<readonly string[]> {
  let names: readonly string[] = []
  await editor.edit(path, (text) => {
    const { text: rest, removed } = withoutEnvironmentOnly(text ?? '')
    names = removed
    return removed.length === 0 ? null : rest
  })
  return names
}

function pathOfName(node: Node, path: readonly (string | number)[] = []): (string | number)[] | null {
  for (const [index, child] of (node.children ?? []).entries()) {
    if (child.type !== 'property') {
      const deeper = pathOfName(child, [...path, index])
      if (deeper) return deeper
      continue
    }
    const [key, value] = child.children ?? []
    const name = String(key?.value)
    if ((environmentOnlyNames as readonly string[]).includes(name.toUpperCase())) return [...path, name]
    const deeper = value && pathOfName(value, [...path, name])
    if (deeper) return deeper
  }
  return null
}
