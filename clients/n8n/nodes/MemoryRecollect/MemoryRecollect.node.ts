import { supplyMemory } from '@n8n/ai-node-sdk';
import type { Recollect } from '@recollect/client';
import {
	NodeConnectionTypes,
	type ICredentialsDecrypted,
	type ICredentialTestFunctions,
	type INodeCredentialTestResult,
	type INodeType,
	type INodeTypeDescription,
	type ISupplyDataFunctions,
	type SupplyData,
} from 'n8n-workflow';
import { connect } from './connection';
import { properties } from './description';
import { RecollectChatMemory, type Settings } from './memory';
import { sessionOf } from './session';

/** A chat memory for AI agents, chains and the Chat Memory Manager. */
export class MemoryRecollect implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Recollect Chat Memory',
		name: 'memoryRecollect',
		icon: { light: 'file:../../icons/recollect.svg', dark: 'file:../../icons/recollect.dark.svg' },
		group: ['transform'],
		version: 1,
		subtitle: '={{ $parameter["mode"] }}',
		description: 'Stores the chat history in Recollect, and recalls what matters of it',
		defaults: { name: 'Recollect Chat Memory' },
		codex: {
			categories: ['AI'],
			subcategories: { AI: ['Memory'], Memory: ['Other memories'] },
			resources: {
				primaryDocumentation: [{ url: 'https://github.com/recollect-memory/recollect/tree/main/clients/n8n' }],
			},
		},
		credentials: [{ name: 'recollectApi', required: true, testedBy: 'recollectConnection' }],
		inputs: [],
		outputs: [NodeConnectionTypes.AiMemory],
		outputNames: ['Memory'],
		properties,
	};

	methods = { credentialTest: { recollectConnection } };

	async supplyData(this: ISupplyDataFunctions, itemIndex: number): Promise<SupplyData> {
		const names = sessionOf(this, itemIndex);
		const settings = settingsOf(this, itemIndex);
		const client = connect(await this.getCredentials('recollectApi'));
		const memory = new RecollectChatMemory(client, names, settings);
		return supplyMemory(this, memory, { closeFunction: async () => client.close() });
	}
}

async function recollectConnection(
	this: ICredentialTestFunctions,
	credential: ICredentialsDecrypted,
): Promise<INodeCredentialTestResult> {
	let client: Recollect | undefined;
	try {
		client = connect(credential.data ?? {});
		// One page of threads: a call that needs the key and stores nothing.
		await client.threads.list({ pageSize: 1, timeoutMs: 5_000 }).next();
		return { status: 'OK', message: 'Connection successful' };
	} catch (error) {
		return { status: 'Error', message: error instanceof Error ? error.message : String(error) };
	} finally {
		client?.close();
	}
}

function settingsOf(context: ISupplyDataFunctions, itemIndex: number): Settings {
	const parameter = <T>(name: string, fallback: T) => context.getNodeParameter(name, itemIndex, fallback as object) as T;
	const options = parameter<Partial<Settings>>('options', {});
	return {
		mode: parameter<Settings['mode']>('mode', 'hybrid'),
		contextWindowLength: parameter('contextWindowLength', 10),
		query: String(parameter<unknown>('query', '') ?? ''),
		searchAll: options.searchAll ?? false,
		topK: options.topK ?? 5,
		neighborsBefore: options.neighborsBefore ?? 2,
		neighborsAfter: options.neighborsAfter ?? 1,
		memoriesTopK: options.memoriesTopK ?? 5,
		profileTokens: options.profileTokens ?? 0,
		maxTokens: options.maxTokens ?? 0,
		observerTokens: options.observerTokens ?? 30_000,
		reflectorTokens: options.reflectorTokens ?? 40_000,
	};
}
