/** GraphQL: code first, bounded in depth and in the number of fields, live subscriptions over graphql-ws. */
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import {
  GraphQLError,
  type ASTNode,
  type ASTVisitor,
  type FragmentDefinitionNode,
  type ValidationContext,
} from 'graphql';

const depthMax = 8;
const fieldsMax = 200;

interface Carried {
  readonly req?: unknown;
  readonly connectionParams?: { readonly authorization?: unknown };
}

/** @param schemaFile  where to write the schema; true: nowhere */
export const graphqlOptions = (schemaFile: string | true): ApolloDriverConfig => ({
  driver: ApolloDriver,
  autoSchemaFile: schemaFile,
  sortSchema: true,
  path: '/graphql',
  graphiql: false,
  playground: false,
  introspection: true,
  csrfPrevention: true,
  includeStacktraceInErrorResponses: false,
  validationRules: [boundedQuery],
  subscriptions: { 'graphql-ws': true },
  context: ({ req, connectionParams }: Carried) => ({
    req: connectionParams === undefined ? req : { headers: { authorization: connectionParams.authorization } },
  }),
});

/** Refuses a query before it runs; fragments count where they are spread, and cycles are refused by graphql itself. */
export function boundedQuery(context: ValidationContext): ASTVisitor {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of context.getDocument().definitions) {
    if (definition.kind === 'FragmentDefinition') fragments.set(definition.name.value, definition);
  }
  return {
    OperationDefinition(operation) {
      const count = { fields: 0 };
      const deep = measure(operation, fragments, 0, count, new Set());
      if (deep > depthMax || count.fields > fieldsMax) {
        context.reportError(
          new GraphQLError(`Expected at most ${depthMax} levels and ${fieldsMax} fields.`, {
            nodes: [operation],
            extensions: { reason: 'QUERY_TOO_COMPLEX' },
          }),
        );
      }
    },
  };
}

function measure(
  node: ASTNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  depth: number,
  count: { fields: number },
  open: ReadonlySet<string>,
): number {
  if (depth > depthMax || count.fields > fieldsMax) return depth;
  if (node.kind === 'FragmentSpread') {
    const name = node.name.value;
    const fragment = fragments.get(name);
    if (fragment === undefined || open.has(name)) return depth;
    return measure(fragment, fragments, depth, count, new Set([...open, name]));
  }
  if (node.kind === 'Field') count.fields += 1;
  const selections = 'selectionSet' in node ? (node.selectionSet?.selections ?? []) : [];
  const below = node.kind === 'Field' ? depth + 1 : depth;
  return selections.reduce((deepest, child) => Math.max(deepest, measure(child, fragments, below, count, open)), below);
}
