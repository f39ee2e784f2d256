import type { AnyNode, Identifier, Pattern } from 'acorn'
import { walkNodes } from './walk-nodes.ts'

/**
 * Returns every name that a source declares anywhere, with the declaring node. Scopes are not distinguished: callers
 * must reject declarations of names that are also globals.
 */
export function declaredNames(program: AnyNode): ReadonlyMap<string, Identifier> {
  const names = new Map<string, Identifier>()
  const declare = (pattern: Pattern | null | undefined): void => {
    for (const identifier of identifiersIn(pattern)) names.set(identifier.name, identifier)
  }
  for (const { node } of walkNodes(program)) {
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- of a grammar's seventy kinds these matter here
    switch (node.type) {
      case 'VariableDeclarator':
        declare(node.id)
        break
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        declare(node.id)
        for (const parameter of node.params) declare(parameter)
        break
      case 'ClassDeclaration':
      case 'ClassExpression':
        declare(node.id)
        break
      case 'CatchClause':
        declare(node.param)
        break
      case 'ImportSpecifier':
      case 'ImportDefaultSpecifier':
      case 'ImportNamespaceSpecifier':
        declare(node.local)
        break
      default:
        break
    }
  }
  return names
}

function identifiersIn(pattern: Pattern | null | undefined): Identifier[] {
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- of a grammar's seventy kinds these matter here
  switch (pattern?.type) {
    case 'Identifier':
      return [pattern]
    case 'ObjectPattern':
      return pattern.properties.flatMap((property) =>
        identifiersIn(property.type === 'RestElement' ? property.argument : property.value),
      )
    case 'ArrayPattern':
      return pattern.elements.flatMap((element) => identifiersIn(element))
    case 'AssignmentPattern':
      return identifiersIn(pattern.left)
    case 'RestElement':
      return identifiersIn(pattern.argument)
    default:
      return []
  }
}
