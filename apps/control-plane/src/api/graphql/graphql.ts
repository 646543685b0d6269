/** GraphQL: code first, bounded in depth, in the number of fields and in the size of the answer, live subscriptions over graphql-ws. */
import type { IncomingMessage } from 'node:http';
import type { ApolloDriverConfig } from '@nestjs/apollo';
import {
  GraphQLError,
  parse,
  type ASTVisitor,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  type ValidationContext,
} from 'graphql';
import { clientAddress, type TrustProxy } from '../../core/config/trust-proxy.js';
import { GuardedDriver } from './graphql-driver.js';

const depthMax = 8;
/**
 * Introspection nests deeper: the query that tools send follows a type through its wrappers. What makes its answer large is
 * a list of members inside a list of members, and no tool asks for more than arguments of fields.
 */
const introspection = { depth: 20, lists: 2, cost: 400, fields: new Set(['__schema', '__type']) } as const;
const memberLists = new Set(['fields', 'inputFields', 'args', 'interfaces', 'possibleTypes', 'enumValues']);
const fieldsMax = 200;
/** Values in the answer, where every page is as long as it may be. */
const costMax = 5000;
/** Items of a page that does not say how many, or says it in a variable. */
const pageItems = { unsaid: 50, unknown: 200 } as const;
/** Items of lists that have no pages, at the most. */
const listItems: ReadonlyMap<string, number> = new Map([
  ['jobAppraisals', 50],
  ['nodeAppraisals', 50],
  ['nodePreflights', 10],
  ['webhookDeliveries', 50],
  ['webhooks', 10],
]);
/** Of a document, before it is parsed: bounds the work of every rule that looks at it. */
const tokensMax = 4000;
/** Operations that run at once over one WebSocket. */
const operationsPerSocketMax = 32;

/** An HTTP request, or a WebSocket with what its client said when it connected. */
interface Carried {
  readonly req?: unknown;
  readonly connectionParams?: { readonly authorization?: unknown };
  readonly extra?: { readonly request: IncomingMessage };
}

/**
 * @param schemaFile  where to write the schema; true: nowhere
 * @param trust       proxies whose word on a WebSocket's address counts
 */
export const graphqlOptions = (schemaFile: string | true, trust: TrustProxy | null): ApolloDriverConfig => ({
  driver: GuardedDriver,
  autoSchemaFile: schemaFile,
  sortSchema: true,
  path: '/graphql',
  graphiql: false,
  playground: false,
  introspection: true,
  csrfPrevention: true,
  includeStacktraceInErrorResponses: false,
  parseOptions: { maxTokens: tokensMax },
  validationRules: [boundedQuery],
  subscriptions: { 'graphql-ws': { onSubscribe: boundedOperation } },
  context: ({ req, connectionParams, extra }: Carried) => ({
    req:
      extra === undefined
        ? req
        : {
            clientAddress: clientAddress(extra.request, trust),
            headers: { authorization: connectionParams?.authorization },
          },
  }),
});

/** graphql-ws parses and validates by itself, without the options above. */
function boundedOperation(
  { subscriptions }: { readonly subscriptions: object },
  _id: string,
  { query }: { readonly query: string },
): GraphQLError[] | undefined {
  if (Object.keys(subscriptions).length > operationsPerSocketMax) {
    const message = `Expected at most ${operationsPerSocketMax} operations at once.`;
    return [new GraphQLError(message, { extensions: { reason: 'TOO_MANY_OPERATIONS' } })];
  }
  try {
    const errors = complexityErrors(parse(query, { maxTokens: tokensMax }));
    return errors.length === 0 ? undefined : errors;
  } catch (error) {
    if (error instanceof GraphQLError) return [error];
    throw error;
  }
}

/** Refuses a query before it runs. */
function boundedQuery(context: ValidationContext): ASTVisitor {
  return {
    Document(document) {
      for (const error of complexityErrors(document)) context.reportError(error);
    },
  };
}

/**
 * One error for each operation that is too deep or too wide. A fragment counts wherever it is spread but is measured
 * once, so the work is linear in the document; cycles are refused by graphql itself.
 */
export function complexityErrors(document: DocumentNode): GraphQLError[] {
  const measures = new Measures(document);
  return document.definitions.flatMap((definition) => {
    if (definition.kind !== 'OperationDefinition') return [];
    const { depth, fields, cost } = measures.of(definition.selectionSet);
    if (depth <= depthMax && fields <= fieldsMax && cost <= costMax) return [];
    const message = `Expected at most ${depthMax} levels, ${fieldsMax} fields and ${costMax} values in an answer.`;
    return [new GraphQLError(message, { nodes: [definition], extensions: { reason: 'QUERY_TOO_COMPLEX' } })];
  });
}

interface Measure {
  readonly depth: number;
  readonly fields: number;
  readonly cost: number;
  /** Lists of members of types, one inside the other. */
  readonly lists: number;
}

const empty: Measure = { depth: 0, fields: 0, cost: 0, lists: 0 };

export class Measures {
  /** Selections looked at so far. */
  visited = 0;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #known = new Map<string, Measure>();

  constructor(document: DocumentNode) {
    const fragments = document.definitions.filter((definition) => definition.kind === 'FragmentDefinition');
    this.#fragments = new Map(fragments.map((fragment) => [fragment.name.value, fragment]));
  }

  of(selectionSet: SelectionSetNode | undefined): Measure {
    let { depth, fields, cost, lists } = empty;
    for (const selection of selectionSet?.selections ?? []) {
      this.visited += 1;
      const inner = this.selection(selection);
      depth = Math.max(depth, inner.depth);
      fields = Math.min(fields + inner.fields, fieldsMax + 1);
      cost = Math.min(cost + inner.cost, costMax + 1);
      lists = Math.max(lists, inner.lists);
    }
    return { depth, fields, cost, lists };
  }

  private selection(selection: SelectionNode): Measure {
    if (selection.kind === 'FragmentSpread') return this.fragment(selection.name.value);
    const below = this.of(selection.selectionSet);
    if (selection.kind === 'InlineFragment') return below;
    const cost = Math.min(1 + itemsOf(selection) * below.cost, costMax + 1);
    const { value: name } = selection.name;
    const lists = below.lists + (memberLists.has(name) ? 1 : 0);
    const isOrdinary = below.depth <= introspection.depth && below.cost <= introspection.cost;
    if (introspection.fields.has(name)) {
      const depth = isOrdinary && lists <= introspection.lists ? 1 : depthMax + 1;
      // The schema has about ten members to each list.
      return { depth, fields: 1, cost: Math.min(10 * cost, costMax + 1), lists };
    }
    return { depth: below.depth + 1, fields: below.fields + 1, cost, lists };
  }

  private fragment(name: string): Measure {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    // What a cycle finds here.
    this.#known.set(name, empty);
    const measure = this.of(this.#fragments.get(name)?.selectionSet);
    this.#known.set(name, measure);
    return measure;
  }
}

/** How often what a field selects may stand in the answer: a page as often as it has items. */
function itemsOf({ name, arguments: given = [] }: FieldNode): number {
  const limit = given.find((argument) => argument.name.value === 'limit')?.value;
  if (limit === undefined) return name.value.endsWith('Page') ? pageItems.unsaid : (listItems.get(name.value) ?? 1);
  return limit.kind === 'IntValue' ? Math.max(1, Math.min(Number(limit.value), pageItems.unknown)) : pageItems.unknown;
}
