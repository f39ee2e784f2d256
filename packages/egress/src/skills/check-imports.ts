import type { AnyNode, Literal } from 'acorn'
import { skillImports } from '@flotilla/protocol/skill-surface'
import { forbiddenImports } from './forbidden-names.ts'
import type { Faults } from './skill-fault.ts'
import { walkNodes } from './walk-nodes.ts'

/**
 * Checks the imports of a source: reports a forbidden module with the reason, any other with the allowed modules.
 * Pure.
 */
export function checkImports(program: AnyNode, faults: Faults): void {
  for (const { node } of walkNodes(program)) {
    if (node.type === 'ImportDeclaration') checkSpecifier(node.source, faults)
    if (node.type === 'ImportNamespaceSpecifier') {
      faults.add(
        node,
        'forbidden-import',
        'import only the names that you use, as in import { like, these }, not a whole module',
      )
    }
    if (node.type === 'ExportAllDeclaration') checkSpecifier(node.source, faults)
    if (node.type === 'ExportNamedDeclaration' && node.source) checkSpecifier(node.source, faults)
  }
}

function checkSpecifier(source: Literal, faults: Faults): void {
  const specifier = String(source.value)
  const segment = specifier
    .replace(/^node:/, '')
    .split('/')
    .find((part) => Object.hasOwn(forbiddenImports, part))
  if (segment !== undefined) {
    faults.add(
      source,
      'forbidden-import',
      `the import of ${specifier} is not allowed: the module ${forbiddenImports[segment]}`,
    )
  } else if (!skillImports.includes(specifier)) {
    faults.add(
      source,
      'forbidden-import',
      `a skill cannot import ${specifier}; it can import ${skillImports.join(', ')}`,
    )
  }
}
